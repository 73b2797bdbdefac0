import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { systemClock } from '../../clock.ts';
import { UserError } from '../../errors.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { ownArguments } from '../../process/own-program.ts';
import { rootSocketPath } from '../../server/control/socket-paths.ts';
import { RemoteView } from '../../server/control/remote-view.ts';
import type { Leaving } from '../../tui/key-bindings.ts';
import type { Theme } from '../../tui/theme.ts';
import { isInForeground } from './can-show-screen.ts';
import { chosenTheme } from './theme-option.ts';
import { runtimeFlags, screenCommands } from './run-commands.ts';
import { stopAgent } from './stop-agent.ts';
import { shellLine } from '../../text/shell-word.ts';
import { StartingView } from './starting-view.ts';
import { openLog } from '../../node/log/rotating-file.ts';
import { readyFD, screenAgentEnvironment } from './screen-agent.ts';
import type { GuardedProcess } from '../../tui/terminal-guard.ts';

/** Exit code of the agent, or, after a signal, the code that shells use. */
type ExitCode = number;

interface ScreenSettings {
  theme: Theme;
  rootDir: string;
  nodeName: string;
  /** Undefined to detect it. */
  runtimeEndpoint: string | undefined;
  stderr: Writable;
}

/**
 * Starts the agent in a separate process and session, so that terminal signals do not affect it. Shows its screen until
 * the user leaves or the agent exits. Resolves with the exit code.
 */
export async function runWithScreen(settings: ScreenSettings): Promise<number> {
  await makeFolder(settings.rootDir, 0o750);
  const logFile = join(settings.rootDir, 'kubelet-ts.log');
  const agent = spawnAgent(logFile);
  const stopPassing = forwardSignals(agent, process);
  try {
    return await showAgent(agent, { ...settings, logFile });
  } finally {
    stopPassing();
  }
}

interface Agent {
  child: ChildProcess;
  ended: Promise<ExitCode>;
  /** Resolves when its control socket answers. Never resolves if the agent exits first. */
  ready: Promise<void>;
  /** Its output since the start, shown if it exits. */
  output: () => string;
  /** True if this process was asked to stop the agent. */
  signalled: boolean;
  /** True while a command of the screen uses the terminal. */
  isTerminalLent: () => boolean;
}

/** Starts the agent with the arguments of this process. Without a terminal it shows no screen. */
function spawnAgent(logFile: string): Agent {
  const log = openLog(logFile);
  const { size } = fstatSync(log);
  const child = spawn(process.execPath, [...ownArguments(), ...process.argv.slice(2)], {
    // The name of the single executable may be `kubelet`.
    argv0: process.argv0,
    detached: true,
    stdio: ['ignore', 'ignore', log, 'pipe'],
    env: screenAgentEnvironment(logFile, process.env),
  });
  closeSync(log);
  const ended = once(child, 'exit').then(([code, signal]: (number | NodeJS.Signals | null)[]) =>
    typeof signal === 'string' ? 128 + constants.signals[signal] : Number(code),
  );
  const ready = new Promise<void>((resolve) => child.stdio[readyFD]?.once('data', resolve));
  const output = (): string => readFileSync(logFile).subarray(size).toString();
  return { child, ended, ready, output, signalled: false, isTerminalLent: () => false };
}

interface Screen extends ScreenSettings {
  logFile: string;
}

async function showAgent(agent: Agent, options: Screen): Promise<number> {
  const { stderr, rootDir, nodeName } = options;
  const view = new StartingView({ nodeName, startedAt: systemClock.now() });
  const left = await screenOf(agent, view, options);
  view.close();
  const pods = view.snapshot().pods.length;
  switch (left) {
    case 'lost':
      return 0;
    case 'detach':
      stderr.write(detachedText({ pid: agent.child.pid ?? 0, pods, ...options }));
      agent.child.unref();
      return 0;
    case 'stop':
      if (!(await stopAgent(rootSocketPath(rootDir), { clock: systemClock, stderr }))) agent.child.kill('SIGINT');
      await agent.ended;
      stderr.write(stoppedText({ pods, ...options }));
      return 0;
    case 'ended': {
      const code = await agent.ended;
      if (code !== 0) stderr.write(lastLines(agent.output()));
      if (view.isThere || code === 0) stderr.write(exitedText(code, { pods, ...options }));
      return code;
    }
  }
}

/** Connects the view to the agent once it has an engine. */
async function attachAgent({ ready }: Agent, view: StartingView, { rootDir }: Screen): Promise<void> {
  await ready;
  const options = { socketPath: rootSocketPath(rootDir), clock: systemClock };
  const remote = await RemoteView.open(options).catch((error: unknown) => {
    if (!(error instanceof UserError)) throw error;
    view.waitsFor([error.message, error.hint].filter((text) => text !== undefined).join('. '));
    return RemoteView.open(options, { waits: true });
  });
  // Undefined means that the agent exited, which is reported elsewhere.
  if (remote !== undefined) view.connect(remote);
}

/** Why the screen closed: its terminal was `lost`, the agent exited (`ended`), or the user's choice. */
async function screenOf(agent: Agent, view: StartingView, options: Screen): Promise<Leaving | 'lost' | 'ended'> {
  const { runScreen } = await import('../../tui/screen.ts');
  let left: Leaving | 'lost' = 'lost';
  const screen = runScreen({
    view,
    stdout: process.stdout,
    stdin: process.stdin,
    commands: screenCommands(runtimeFlags(options)),
    logFile: options.logFile,
    theme: chosenTheme(options.theme),
    isInForeground,
    onLeave: (leaving) => {
      left = leaving;
    },
  });
  agent.isTerminalLent = () => screen.isLent;
  const attached = attachAgent(agent, view, options).then(() => {
    screen.refresh();
  });
  const isEnded = await Promise.race([
    agent.ended.then(() => true),
    screen.exited.then(() => agent.signalled),
    // Only a failure stops the wait.
    attached.then(() => new Promise<never>(() => undefined)),
  ]).finally(() => {
    screen.unmount();
  });
  await screen.exited;
  return isEnded ? 'ended' : left;
}

const maxLastLines = 10;

/** The last lines of an agent that failed to start, from its first error on. */
function lastLines(text: string): string {
  const lines = text.trimEnd().split('\n').slice(-maxLastLines);
  const firstError = lines.findIndex((line) => line.startsWith('error: '));
  const shown = firstError < 0 ? lines : lines.slice(firstError);
  return shown.map((line) => `${line}\n`).join('');
}

interface NodeFacts {
  rootDir: string;
  logFile: string;
  pods: number;
}

/** Printed after detaching: how to get back to the agent and its pods. */
function detachedText({ pid, pods, rootDir, logFile }: NodeFacts & { pid: number }): string {
  const where = rootDirWords(rootDir);
  return `kubelet-ts keeps running in the background (pid ${pid}) with ${podCount(pods)}.
  list them:   kubelet-ts ps${where}
  its log:     ${logFile}
  stop it:     kill -INT ${pid} (pods keep running unsupervised)
  stop all:    kubelet-ts down${where}
`;
}

/** Printed after the agent exited. */
function stoppedText({ pods, rootDir, logFile }: NodeFacts): string {
  if (pods === 0) return 'kubelet-ts stopped. It had no pods.\n';
  const where = rootDirWords(rootDir);
  const keep = pods === 1 ? 'keeps' : 'keep';
  return `kubelet-ts stopped. ${podCount(pods)} ${keep} running unsupervised: nothing restarts or probes them.
  list them:  kubelet-ts ps${where}
  its log:    ${logFile}
  supervise:  kubelet-ts run with the same arguments
  stop them:  kubelet-ts down${where}
`;
}

function exitedText(code: number, facts: NodeFacts): string {
  return code === 0 ? stoppedText(facts) : stoppedText(facts).replace('stopped.', `exited with code ${code}.`);
}

/** Empty, or the flags after a space. */
const rootDirWords = (rootDir: string): string =>
  runtimeFlags({ rootDir, runtimeEndpoint: undefined })
    .map((word) => ` ${shellLine([word])}`)
    .join('');
const podCount = (pods: number): string => (pods === 1 ? '1 pod' : `${pods} pods`);

interface SignalledAgent {
  readonly child: { kill(signal: NodeJS.Signals): unknown };
  signalled: boolean;
  readonly isTerminalLent: () => boolean;
}

/**
 * Passes SIGINT and SIGTERM on to the agent until the returned function is called. While a command uses the terminal,
 * SIGINT comes from its keys and is only for that command.
 */
export function forwardSignals(agent: SignalledAgent, guarded: GuardedProcess): () => void {
  const passOn = (signal: NodeJS.Signals): void => {
    agent.signalled = true;
    agent.child.kill(signal);
  };
  const onInterrupt = (): void => {
    if (!agent.isTerminalLent()) passOn('SIGINT');
  };
  const onTerminate = (): void => {
    passOn('SIGTERM');
  };
  guarded.on('SIGINT', onInterrupt);
  guarded.on('SIGTERM', onTerminate);
  return () => {
    guarded.off('SIGINT', onInterrupt);
    guarded.off('SIGTERM', onTerminate);
  };
}
