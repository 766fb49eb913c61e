"""Redirects as fetch follows them."""

from __future__ import annotations

from typing import Any

import pytest

from codemode_executor.network import (
    OutboundError,
    OutboundFailed,
    OutboundRefused,
    OutboundRequest,
    OutboundResponse,
    follow,
)


class Site:
    """Answers from a table and remembers what it was asked."""

    def __init__(self, pages: dict[str, OutboundResponse]) -> None:
        self.pages = pages
        self.asked: list[OutboundRequest] = []

    async def __call__(self, request: OutboundRequest) -> OutboundResponse:
        self.asked.append(request)
        return self.pages.get(request.url.partition("#")[0], OutboundResponse(body=b"end"))


def to(location: str, status: int = 302) -> OutboundResponse:
    return OutboundResponse(status=status, headers=[("Location", location)])


@pytest.mark.parametrize(
    ("status", "method", "then"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
        (301, "PUT", "PUT"),
        (302, "DELETE", "DELETE"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (303, "GET", "GET"),
    ],
)
async def test_method_and_body_of_the_next_hop(status: int, method: str, then: str) -> None:
    site = Site({"http://a/": to("/b", status)})
    body = None if method in ("GET", "HEAD") else b"body"
    headers = [("Content-Type", "text/plain"), ("Content-Language", "en"), ("Accept", "x")]
    await follow(site)(OutboundRequest(method=method, url="http://a/", body=body, headers=headers))
    second = site.asked[1]
    assert second.method == then
    assert second.body == (body if then == method else None)
    assert second.header("accept") == "x"
    assert (second.header("content-type") is None) == (then != method)


async def test_the_last_response_says_where_it_is_from() -> None:
    site = Site({"http://a/": to("b/c"), "http://a/b/c": to("//other/x?y#z")})
    response = await follow(site)(OutboundRequest(url="http://a/#frag"))
    assert (response.url, response.redirected, response.body) == ("http://other/x?y", True, b"end")
    assert [request.url for request in site.asked] == ["http://a/#frag", "http://a/b/c#frag", "http://other/x?y#z"]
    assert {request.redirect for request in site.asked} == {"manual"}
    direct = await follow(site)(OutboundRequest(url="http://z/#f"))
    assert (direct.url, direct.redirected) == ("http://z/", False)


@pytest.mark.parametrize("there", ["http://b/", "https://a/", "http://a:81/"])
async def test_credentials_stay_with_their_origin(there: str) -> None:
    site = Site({"http://a/": to("/same"), "http://a/same": to(there)})
    headers = [("Authorization", "secret"), ("Cookie", "secret"), ("Host", "a"), ("X-Api-Key", "secret"), ("X", "1")]
    await follow(site)(OutboundRequest(url="http://a/", headers=headers))
    assert site.asked[1].headers == tuple(headers)
    assert site.asked[2].headers == (("X", "1"),)


async def test_modes() -> None:
    site = Site({"http://a/": to("/b")})
    manual = await follow(site)(OutboundRequest(url="http://a/", redirect="manual"))
    assert (manual.status, manual.redirected, manual.header("location")) == (302, False, "/b")
    with pytest.raises(OutboundRefused, match="redirect mode is error") as caught:
        await follow(site)(OutboundRequest(url="http://a/", redirect="error"))
    assert caught.value.rule == "redirect"
    assert len(site.asked) == 2


async def test_a_loop_ends() -> None:
    site = Site({"http://a/": to("http://b/"), "http://b/": to("http://a/")})
    with pytest.raises(OutboundRefused, match="Too many redirects: the limit is 20"):
        await follow(site)(OutboundRequest(url="http://a/"))
    assert len(site.asked) == 21
    site.asked.clear()
    with pytest.raises(OutboundRefused, match="the limit is 0"):
        await follow(site, 0)(OutboundRequest(url="http://a/"))
    assert len(site.asked) == 1


@pytest.mark.parametrize("status", [200, 300, 304, 305, 306])
async def test_no_other_status_redirects(status: int) -> None:
    response = await follow(Site({"http://a/": to("/b", status)}))(OutboundRequest(url="http://a/"))
    assert response.status == status


async def test_a_redirect_without_a_location_is_a_response() -> None:
    response = await follow(Site({"http://a/": OutboundResponse(status=302)}))(OutboundRequest(url="http://a/"))
    assert response.status == 302


@pytest.mark.parametrize(
    "headers",
    [
        [("location", "http://")],
        [("location", "http://[::zz]/")],
        [("location", "/a"), ("location", "/b")],
        [("location", "http://b/" + "x" * 40_000)],
    ],
)
async def test_a_redirect_to_nowhere_fails(headers: list[tuple[str, str]]) -> None:
    with pytest.raises(OutboundFailed) as caught:
        await follow(Site({"http://a/": OutboundResponse(status=302, headers=headers)}))(
            OutboundRequest(url="http://a/")
        )
    assert caught.value.part == "redirect"


@pytest.mark.parametrize("raw", ["/\u00c3\u00bc", "/\u00fc"])
async def test_a_location_is_read_as_utf_8_and_else_as_latin_1(raw: str) -> None:
    site = Site({"http://a/": to(raw)})
    await follow(site)(OutboundRequest(url="http://a/"))
    assert site.asked[1].url == "http://a/%C3%BC"


async def test_each_hop_is_judged_by_the_handler() -> None:
    async def judging(request: OutboundRequest) -> OutboundResponse:
        if not request.url.startswith("http://a/"):
            raise OutboundRefused("origin", "not there")
        return to("http://169.254.169.254/latest")

    with pytest.raises(OutboundError, match="not there"):
        await follow(judging)(OutboundRequest(url="http://a/"))


@pytest.mark.parametrize("location", ["file:///etc/passwd", "data:text/plain,x", "javascript:1"])
async def test_a_scheme_reaches_the_handler_as_it_is(location: str) -> None:
    seen: list[Any] = []

    async def handler(request: OutboundRequest) -> OutboundResponse:
        seen.append(request.url)
        return to(location) if len(seen) == 1 else OutboundResponse()

    await follow(handler)(OutboundRequest(url="http://a/"))
    assert seen[1] == location
