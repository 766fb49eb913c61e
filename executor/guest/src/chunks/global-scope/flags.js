// What Cloudflare.compatibilityFlags says at upstream's compatibility date: which of workerd's behaviours hold.
// In its order, those that are off with a minus before them.
export const FLAGS =
  'formdata_parser_supports_files fetch_refuses_unknown_protocols -html_rewriter_treats_esi_include_as_void_tag ' +
  'durable_object_fetch_requires_full_url streams_byob_reader_detaches_buffer streams_enable_constructors ' +
  'workers_api_getters_setters_on_prototype minimal_subrequests no_cots_on_external_fetch url_standard ' +
  'global_navigator capture_async_api_throws r2_public_beta_bindings -durable_object_alarms ' +
  'dont_substitute_null_on_type_error transformstream_enable_standard_constructor r2_list_honor_include ' +
  'export_commonjs_default web_socket_compression nodejs_compat -tcp_sockets_support response_redirect_url_standard ' +
  'http_headers_getsetcookie dynamic_dispatch_tunnel_exceptions no_cf_botmanagement_default ' +
  'urlsearchparams_delete_has_value_arg strict_compression_checks brotli_content_encoding strict_crypto_checks ' +
  'crypto_preserve_public_exponent vectorize_query_metadata_optional no_global_importscripts -nodejs_als ' +
  'queues_json_messages -python_workers fetcher_no_get_put_delete unwrap_custom_thenables rpc ' +
  'internal_stream_byob_return_view blob_standard_mime_type fetch_standard_url nodejs_compat_v2 ' +
  '-global_fetch_strictly_public cache_option_enabled allow_custom_ports ' +
  'internal_writable_stream_abort_clears_queue nodejs_zlib handle_cross_request_promise_resolution set_tostring_tag ' +
  'upper_case_all_http_methods -python_external_packages disable_top_level_await_in_require ' +
  'fixup-transform-stream-backpressure -cache_no_cache_enabled -python_workers_20250116 ' +
  'request_cf_overrides_cache_rules unique_ctx_per_invocation -queue_consumer_no_wait_for_wait_until ' +
  'nodejs_compat_populate_process_env cache_api_request_cf_overrides_cache_rules -disallow_importable_env ' +
  'assets_navigation_prefers_asset_serving cache_api_compat_flags urlpattern_standard enable_weak_ref ' +
  '-request_signal_passthrough enable_navigator_language allow_eval_during_startup -enable_request_signal ' +
  '-nonclass_entrypoint_reuses_ctx_across_invocations -bind_asynclocalstorage_snapshot_to_request ' +
  '-throw_on_unrecognized_import_assertion -python_workflows -enable_nodejs_process_v2 -set_event_target_this ' +
  '-set_forwardable_email_full_headers -enable_nodejs_http_modules -pedantic_wpt -expose_global_message_channel ' +
  '-enable_nodejs_http_server_modules -python_no_global_handlers -enable_nodejs_fs_module -enable_nodejs_os_module ' +
  '-python_workers_force_new_vendor_path -remove_nodejs_compat_eol -enable_validate_workflow_entrypoint ' +
  '-python_dedicated_snapshot -enable_nodejs_http2_module -strip_authorization_on_cross_origin_redirect ' +
  '-enable_email_sending_queuing -remove_nodejs_compat_eol_v22 -remove_nodejs_compat_eol_v23 ' +
  '-remove_nodejs_compat_eol_v24 -enable_nodejs_console_module -enable_nodejs_vm_module ' +
  '-enable_nodejs_perf_hooks_module -enable_global_performance_classes -enable_nodejs_domain_module ' +
  '-enable_nodejs_v8_module -enable_nodejs_tty_module -enable_nodejs_punycode_module -enable_nodejs_cluster_module ' +
  '-enable_nodejs_child_process_module -enable_nodejs_worker_threads_module -enable_nodejs_stream_wrap_module ' +
  '-enable_nodejs_wasi_module -enable_nodejs_dgram_module -enable_nodejs_inspector_module ' +
  '-enable_nodejs_trace_events_module -enable_nodejs_readline_module -enable_nodejs_repl_module ' +
  '-enable_nodejs_sqlite_module -enable_ctx_exports -enable_fast_jsg_struct -enable_streams_nodejs_v24_compat ' +
  '-python_check_rng_state -immutable_api_prototypes -fetch_iterable_type_support -env_module_nullable_support ' +
  '-fetch_iterable_type_support_override_adjustment -strip_bom_in_read_all_text -rpc_params_dup_stubs ' +
  '-enable_nodejs_global_timers -python_workflows_implicit_dependencies -require_returns_default_export ' +
  '-python_request_headers_preserve_commas -queue_expose_error_codes -text_decoder_replace_surrogates ' +
  '-containers_pid_namespace -delete_all_deletes_alarm -unhandled_rejection_after_microtask_checkpoint ' +
  '-text_decoder_cjk_decoder -websocket_close_reason_byte_limit -websocket_standard_binary_type ' +
  '-writable_stream_spec_compliant_writer -encoder_stream_spec_compliant_backpressure ' +
  '-web_socket_auto_reply_to_close'
