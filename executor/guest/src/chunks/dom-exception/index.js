// DOMException as workerd has it: no Error by brand, but one by its prototype, with four enumerable own properties.
import { defineConstants, publish, readOnly } from '../shape.js'

const { captureStackTrace } = Error
const { defineProperty } = Reflect

// In the order of their codes, which are the older ones' only.
const NAMES = [
  'IndexSizeError', 'DOMStringSizeError', 'HierarchyRequestError', 'WrongDocumentError', 'InvalidCharacterError',
  'NoDataAllowedError', 'NoModificationAllowedError', 'NotFoundError', 'NotSupportedError', 'InUseAttributeError',
  'InvalidStateError', 'SyntaxError', 'InvalidModificationError', 'NamespaceError', 'InvalidAccessError',
  'ValidationError', 'TypeMismatchError', 'SecurityError', 'NetworkError', 'AbortError', 'URLMismatchError',
  'QuotaExceededError', 'TimeoutError', 'InvalidNodeTypeError', 'DataCloneError',
]
const CONSTANTS = [
  'INDEX_SIZE_ERR', 'DOMSTRING_SIZE_ERR', 'HIERARCHY_REQUEST_ERR', 'WRONG_DOCUMENT_ERR', 'INVALID_CHARACTER_ERR',
  'NO_DATA_ALLOWED_ERR', 'NO_MODIFICATION_ALLOWED_ERR', 'NOT_FOUND_ERR', 'NOT_SUPPORTED_ERR', 'INUSE_ATTRIBUTE_ERR',
  'INVALID_STATE_ERR', 'SYNTAX_ERR', 'INVALID_MODIFICATION_ERR', 'NAMESPACE_ERR', 'INVALID_ACCESS_ERR',
  'VALIDATION_ERR', 'TYPE_MISMATCH_ERR', 'SECURITY_ERR', 'NETWORK_ERR', 'ABORT_ERR', 'URL_MISMATCH_ERR',
  'QUOTA_EXCEEDED_ERR', 'TIMEOUT_ERR', 'INVALID_NODE_TYPE_ERR', 'DATA_CLONE_ERR',
]

const codeOf = (name) => {
  for (let i = 0; i < NAMES.length; i++) if (NAMES[i] === name) return i + 1
  return 0
}

let isException

class DOMExceptionInner {
  #brand

  constructor(message = '', name = 'Error') {
    const text = `${message}`
    const shown = `${name}`
    defineProperty(this, 'code', readOnly(codeOf(shown)))
    defineProperty(this, 'name', readOnly(shown))
    defineProperty(this, 'message', readOnly(text))
    captureStackTrace(this, DOMException)
    defineProperty(this, 'stack', { __proto__: null, enumerable: true })
  }

  static {
    isException = (value) => typeof value === 'object' && value !== null && #brand in value
  }
}

Object.setPrototypeOf(DOMExceptionInner.prototype, Error.prototype)
const DOMException = publish(DOMExceptionInner, 'DOMException')

export default function install(realm) {
  const constants = { __proto__: null }
  for (let i = 0; i < CONSTANTS.length; i++) constants[CONSTANTS[i]] = i + 1
  defineConstants(DOMException, constants)
  realm.define('DOMException', DOMException)
  return { __proto__: null, DOMException, isException }
}
