//! JavaScript for requests that HTML and CSS cannot make: after a delay, after several arrivals, with other methods.
//!
//! Windows that need it have four functions: `q` adds an element, `g` fetches, `t` waits while holding up the load
//! event, `d` counts arrivals.

use std::time::Duration;

use super::units::Carrier;

/// `q(element, url, urgent, then, id)`; `g(url, options, then)`; `t(ms, then)`; `d(object, arrivals, then)`.
///
/// The response to a fetch from another host cannot be read: `then` runs at its head, and the response is kept,
/// because a browser aborts transfers of unreadable responses once they are unreferenced.
///
/// The load event waits for a frame whose document is open for writing, so `t` keeps one for the length of a delay.
pub(super) const HELPERS: &str = "<script>\
function q(t,u,p,h,i){let p0=t=='preload',e=document.createElement(p0?'link':t);\
if(p)e.fetchPriority='high';if(i)e.id=i;e.onload=e.onerror=h;\
if(p0){e.rel=t;e.as='image'}if(t=='link')e.rel='stylesheet';\
e[t=='link'||p0?'href':'src']=u;(document.body||document.documentElement).append(e)}\
function g(u,o,h){fetch(u,{mode:'no-cors',credentials:'include',cache:'no-store',...o})\
.then(r=>((g.r=g.r||[]).push(r),r.text())).catch(()=>0).then(h)}\
function t(m,h){t.n=-~t.n;if(t.n==1){t.f=document.createElement('iframe');t.f.hidden=1;\
document.documentElement.append(t.f);t.f.contentDocument.open()}\
setTimeout(()=>{h();if(!--t.n)t.f.contentDocument.close()},m)}\
function d(i,n,h){let o=d[i]=d[i]||{n:0};if(h)o.h=h;if(++o.n==n)o.h()}\
</script>";

/// Call to run on the arrival of an object that blocks the first paint.
pub(super) const LIFT: &str = "p()";

/// Hides a document until [`LIFT`] has run on `arrivals` arrivals. Everything else continues behind it: a sheet or
/// script that held up the parser itself would also hold up the requests that code makes.
pub(super) fn curtain(arrivals: usize) -> String {
    format!(
        "<style id=p0>body{{visibility:hidden}}</style>\
         <script>p0.n={arrivals};function p(){{--p0.n||p0.remove()}}</script>"
    )
}

/// Parameters of one request.
pub(super) struct ScriptCall<'a> {
    pub(super) carrier: Carrier,
    /// Link from its window.
    pub(super) link: &'a str,
    pub(super) urgent: bool,
    /// Method of a fetch.
    pub(super) method: &'a str,
    pub(super) body_bytes: u64,
    /// Code to run on its arrival.
    pub(super) then: &'a str,
    /// The element's id.
    pub(super) id: Option<String>,
    /// Index of the object, for names.
    pub(super) object: usize,
}

/// Statement that makes the request.
pub(super) fn request(call: &ScriptCall<'_>) -> String {
    let url = super::html::js(call.link);
    let then = if call.then.is_empty() { String::new() } else { function(call.then) };
    let element = match call.carrier {
        Carrier::Navigation | Carrier::Frame => "iframe",
        Carrier::Sheet => "link",
        Carrier::Script => "script",
        Carrier::Image => "img",
        Carrier::Preload => "preload",
        Carrier::Font => {
            let source = super::html::js(&super::html::css_url(call.link));
            let then = if then.is_empty() {
                String::new()
            } else {
                format!(".then(0,()=>0).then({then})")
            };
            return format!("new FontFace(\"f{}\",{source}).load(){then}", call.object);
        }
        Carrier::Fetch => {
            let body = match call.body_bytes {
                0 => String::new(),
                bytes => format!(",body:\"x\".repeat({bytes})"),
            };
            let then = if then.is_empty() { then } else { format!(",{then}") };
            return format!("g({url},{{method:\"{}\"{body}}}{then})", call.method);
        }
    };
    let urgent = u8::from(call.urgent);
    let mut arguments = format!("\"{element}\",{url},{urgent}");
    match (&call.id, then.is_empty()) {
        (Some(id), true) => arguments += &format!(",null,\"{id}\""),
        (Some(id), false) => arguments += &format!(",{then},\"{id}\""),
        (None, false) => arguments += &format!(",{then}"),
        (None, true) if !call.urgent => arguments.truncate(arguments.len() - ",0".len()),
        (None, true) => {}
    }
    format!("q({arguments})")
}

/// `code` after a delay. Timers count in milliseconds.
pub(super) fn delayed(code: String, delay: Duration, blocks_load: bool) -> String {
    match (millis(delay), blocks_load) {
        (0, _) => code,
        (ms, true) => format!("t({ms},{})", function(&code)),
        (ms, false) => format!("setTimeout({},{ms})", function(&code)),
    }
}

/// Runs `code` once `arrivals` calls with the same object have been made; `None` for a call that only counts.
pub(super) fn counted(object: usize, arrivals: usize, code: Option<String>) -> String {
    match code {
        Some(code) => format!("d({object},{arrivals},{})", function(&code)),
        None => format!("d({object},{arrivals})"),
    }
}

/// Rounds to the nearest millisecond.
pub(super) fn millis(delay: Duration) -> u128 {
    (delay.as_micros() + 500) / 1000
}

fn function(code: &str) -> String {
    format!("()=>{{{code}}}")
}
