//! PAC engine: QuickJS with the functions that browsers provide.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use chance::RandomStream;
use rquickjs::context::{EvalOptions, intrinsic};
use rquickjs::{CatchResultExt, CaughtError, Context, Ctx, Function, Runtime, Value};

use super::{Choice, PacError, PacScript, shown};

/// The functions that browsers provide, as a function of the host's primitives.
const HELPERS: &str = include_str!("../assets/helpers.js");

/// The function that a file must define.
const FIND: &str = "FindProxyForURL";

/// Steps, loop turns and calls, between two interrupt callbacks of the engine (`JS_INTERRUPT_COUNTER_INIT` in QuickJS).
const STEPS_A_LOOK: u64 = 10_000;
/// Maximum interrupt callbacks per task of a file: some tenths of a second.
const LOOKS: u64 = 1_000;
/// Memory limit of a file.
const MEBIBYTES: usize = 16;
/// Stack limit, in bytes of the thread's stack.
const STACK: usize = 256 << 10;

/// The language without features that expose the machine: no clock except the date's, no weak references, which
/// reveal when memory is freed.
type Language = (
    intrinsic::Date,
    intrinsic::Eval,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
);

/// Resolves a host's name to its address.
pub type Resolve = dyn Fn(&str) -> Option<IpAddr>;

/// Environment of a file in the browser that runs it.
pub struct PacEnvironment {
    /// The address of a host, if it has one.
    pub resolve: Box<Resolve>,
    /// The browser's own address.
    pub own: IpAddr,
    /// Source of randomness for `Math.random`.
    pub random: RandomStream,
    /// The date, since 1970.
    pub now: Duration,
}

/// A running PAC file. Its state persists between calls, as in a browser.
pub struct Engine {
    name: String,
    context: Context,
    /// Number of interrupt callbacks since the start of the current task.
    looks: Rc<Cell<u64>>,
}

impl Engine {
    /// Runs the file, which defines its function.
    ///
    /// # Errors
    /// If it is not JavaScript, throws an exception, lacks the function or exceeds its limits.
    pub fn start(script: &PacScript, surroundings: PacEnvironment) -> Result<Engine, PacError> {
        let name = script.name.clone();
        let failed = |error: rquickjs::Error| PacError::Engine {
            name: name.clone(),
            message: error.to_string(),
        };
        let runtime = Runtime::new().map_err(failed)?;
        runtime.set_memory_limit(MEBIBYTES << 20);
        runtime.set_max_stack_size(STACK);
        let looks = Rc::new(Cell::new(0));
        let counted = Rc::clone(&looks);
        runtime.set_interrupt_handler(Some(Box::new(move || {
            counted.set(counted.get() + 1);
            counted.get() > LOOKS
        })));
        let context = Context::custom::<Language>(&runtime).map_err(failed)?;
        context.with(|ctx| surroundings.give(&ctx)).map_err(failed)?;
        let engine = Engine { name, context, looks };
        engine.context.with(|ctx| engine.run(&ctx, &script.text))?;
        Ok(engine)
    }

    /// The file's answer for a URL of this host, which it sees as Chromium [shows](shown) it.
    ///
    /// # Errors
    /// If it throws an exception, exceeds its limits or gives an unsupported answer.
    pub fn find(&self, url: &str, host: &str) -> Result<Choice, PacError> {
        let url = shown(url);
        let answer = self.context.with(|ctx| self.ask(&ctx, &url, host))?;
        let problem = match answer {
            Ok(text) => match Choice::read(&text) {
                Ok(choice) => return Ok(choice),
                Err(problem) => problem,
            },
            Err(kind) => format!("no string, but a value of type `{kind}`"),
        };
        Err(PacError::Answer { name: self.name.clone(), url, problem })
    }

    fn run(&self, ctx: &Ctx<'_>, text: &str) -> Result<(), PacError> {
        let task = || "it is run for the first time".to_owned();
        if text.contains('\0') {
            let message = "it holds a zero byte".to_owned();
            return Err(PacError::Script { name: self.name.clone(), line: None, message });
        }
        let mut options = EvalOptions::default();
        options.strict = false;
        options.filename = Some(self.file());
        let ran = ctx.eval_with_options::<Value<'_>, _>(text, options).catch(ctx);
        ran.map_err(|error| self.told(&error, task))?;
        self.function(ctx).map(drop)
    }

    /// The answer, or the kind of value returned instead.
    fn ask(
        &self,
        ctx: &Ctx<'_>,
        url: &str,
        host: &str,
    ) -> Result<Result<String, &'static str>, PacError> {
        self.looks.set(0);
        let find = self.function(ctx)?;
        let answer = find.call::<_, Value<'_>>((url, host)).catch(ctx);
        let answer = answer.map_err(|error| self.told(&error, || format!("it asks for {url}")))?;
        let text = answer.as_string().map(rquickjs::String::to_string);
        Ok(match text {
            Some(Ok(text)) => Ok(text),
            Some(Err(_)) => Err("string that is no text"),
            None => Err(answer.type_name()),
        })
    }

    fn function<'js>(&self, ctx: &Ctx<'js>) -> Result<Function<'js>, PacError> {
        let found = ctx.globals().get::<_, Function<'js>>(FIND).catch(ctx);
        found.map_err(|_| PacError::NoFunction { name: self.name.clone() })
    }

    /// The file's name for the engine, without zero bytes, which no path has.
    fn file(&self) -> String {
        self.name.replace('\0', "")
    }

    fn told(&self, error: &CaughtError<'_>, task: impl Fn() -> String) -> PacError {
        let name = self.name.clone();
        if self.looks.get() > LOOKS {
            return PacError::Endless { name, steps: LOOKS * STEPS_A_LOOK, task: task() };
        }
        let (message, stack) = match error {
            CaughtError::Exception(thrown) => {
                let kind = thrown.as_object().get::<_, String>("name").ok();
                let message = thrown.message().unwrap_or_default();
                let said = kind.filter(|kind| kind != "Error");
                let said =
                    said.map_or_else(|| message.clone(), |kind| format!("{kind}: {message}"));
                (said, thrown.stack().unwrap_or_default())
            }
            CaughtError::Value(value) => (format!("it throws {}", text_of(value)), String::new()),
            CaughtError::Error(error) => (error.to_string(), String::new()),
        };
        if message.contains("out of memory") {
            return PacError::Greedy { name, mebibytes: MEBIBYTES, task: task() };
        }
        PacError::Script { line: self.line(&stack), message, name }
    }

    /// The innermost line of the file in a stack of calls: `    at f (proxy.pac:3:5)`.
    fn line(&self, stack: &str) -> Option<u32> {
        let mark = format!("{}:", self.file());
        let after = stack.lines().find_map(|call| call.split_once(&mark))?.1;
        after.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok()
    }
}

/// A thrown value that is not an exception.
fn text_of(value: &Value<'_>) -> String {
    match value.as_string().map(rquickjs::String::to_string) {
        Some(Ok(text)) => format!("`{text}`"),
        _ => format!("a value of type `{}`", value.type_name()),
    }
}

impl PacEnvironment {
    fn give(self, ctx: &Ctx<'_>) -> rquickjs::Result<()> {
        let PacEnvironment { resolve, own, random, now } = self;
        let resolve = Function::new(ctx.clone(), move |host: String| -> Option<String> {
            let literal = host.trim_matches(['[', ']']).parse::<IpAddr>().ok();
            literal.or_else(|| resolve(&host)).map(|address| address.to_string())
        })?;
        let random = RefCell::new(random);
        let random = Function::new(ctx.clone(), move || random.borrow_mut().unit())?;
        let helpers: Function<'_> = ctx.eval(HELPERS)?;
        helpers.call((resolve, own.to_string(), random, now.as_millis() as f64))
    }
}
