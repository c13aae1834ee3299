//! Parse, log, runtime, run, exit code; nothing else.

use std::io::{self, Write as _};
use std::process::ExitCode;

use kidoban::cli::{self, Cli, Command, Options, Setting};
use kidoban::config::{self, Config, Role};
use kidoban::engine::launcher;
use kidoban::engine::process::{EngineCommand, NotRunnable};
use kidoban::run::{self, Shown, StartError};
use kidoban::{demo, health, log, man, simulate, systemd};

/// The system's own gives back only what lies at its end, and keeps megabytes after a flood.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    launcher::become_engine_if_asked();
    let (command, settings) = Cli::read();
    let outcome = match command {
        Command::Engine => done(demo::engine::run(io::stdin().lock(), io::stdout().lock())),
        Command::Health { target } => in_a_runtime(health::tell(&target)),
        Command::Simulate(args) => {
            simulate::simulate(&args, &cli::as_typed()).map_err(StartError::from)
        }
        Command::Completions { shell } => done(man::completions(shell, io::stdout())),
        Command::Man => done(man::man(io::stdout())),
        Command::Serve(serve) => start(Role::Serve, &serve.options, settings, |open_files_soft| {
            config::decide_engine(&serve.engine, &serve.options, open_files_soft)
        }),
        Command::Demo(options) => start(Role::Demo, &options, settings, |open_files_soft| {
            Ok(config::built_in_engine(&options, open_files_soft))
        }),
    };
    outcome.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "kidoban: {error}");
        error.exit_code()
    })
}

fn start(
    role: Role,
    options: &Options,
    settings: Vec<Setting>,
    engine: impl FnOnce(Option<u64>) -> Result<EngineCommand, NotRunnable>,
) -> Result<ExitCode, StartError> {
    // Before the log's thread, and any other.
    let passed = systemd::passed_sockets()?;
    let config = Config::decide(options).map_err(StartError::Contradictions)?;
    let log = log::start(config.log_format).map_err(StartError::Log)?;
    let engine = engine(run::raise_open_files())?;
    if options.check() {
        for setting in settings {
            let _ = writeln!(io::stdout(), "{setting}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    // One thread: the engine dies with the thread that started it, and this one is the process.
    let shown = Shown { settings, log };
    in_a_runtime(run::run(config, engine, role, passed, shown))?
}

fn done(outcome: io::Result<()>) -> Result<ExitCode, StartError> {
    outcome
        .map(|()| ExitCode::SUCCESS)
        .map_err(|error| StartError::System("go on", error))
}

fn in_a_runtime<T>(work: impl Future<Output = T>) -> Result<T, StartError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| StartError::System("start a runtime", error))?;
    let done = runtime.block_on(work);
    // A disk that hangs under a reading of static files must not hold up the end.
    runtime.shutdown_background();
    Ok(done)
}
