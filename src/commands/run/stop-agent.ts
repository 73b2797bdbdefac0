import type { Writable } from 'node:stream';
import type { Clock } from '../../clock.ts';
import { UserError } from '../../errors.ts';
import {
  describeState,
  isRunning,
  type ProcessIdentity,
  ProgressWatch,
  signalProcess,
  isOfThisRoot,
  readProcessFile,
  readStat,
} from '../../process/process-identity.ts';
import { AgentSilentError } from '../../server/control/agent-errors.ts';
import { readAgentProcess } from '../../server/control/agent-process.ts';
import { requestShutdown, waitForEnd } from '../../server/control/control-client.ts';
import { patientSocket } from '../io/patient-socket.ts';
import { basename } from 'node:path';
import { visible } from '../../text/visible-text.ts';

/** Longer than OpenRC waits for a service to stop, in milliseconds. */
const stopLimitMs = 60_000;

interface Deps {
  clock: Clock;
  stderr: Writable;
}

/** Milliseconds after each signal if the agent makes no progress, and if it does. */
const graceMs = 5000;
const busyGraceMs = 60_000;
/** Polls, because the exit of a process is reported only to its parent. */
const pollMs = 20;

/**
 * Stops the agent behind a socket, and first its OpenRC service. Its pods keep running. Stops an agent that does not
 * answer by signals, with a warning on stderr. Resolves with false if no agent runs. Rejects with a `UserError` if the
 * agent cannot be stopped.
 */
export async function stopAgent(socketPath: string, deps: Deps): Promise<boolean> {
  const agent = await readAgentProcess(socketPath);
  const hasStopped = agent !== undefined && (await stopSupervisor(agent, deps.stderr));
  try {
    const socket = patientSocket(socketPath, deps.stderr);
    if (!(await requestShutdown(socket))) return hasStopped;
    await waitForEnd(socket);
  } catch (error) {
    if (!(error instanceof AgentSilentError) || error.agent === undefined) throw error;
    deps.stderr.write(`warning: ${error.message}; stopping it with a signal\n`);
    await stopProcess(error.agent, deps);
  }
  return true;
}

/** Sends SIGCONT too, because a stopped process handles only SIGKILL. */
async function stopProcess(agent: ProcessIdentity, { clock, stderr }: Deps): Promise<void> {
  await signalProcess(agent, 'SIGTERM');
  await signalProcess(agent, 'SIGCONT');
  if (await hasExited(agent, clock)) return;
  stderr.write(`warning: kubelet-ts (pid ${agent.pid}) still runs after SIGTERM; killing it\n`);
  await signalProcess(agent, 'SIGKILL');
  if (await hasExited(agent, clock)) return;
  const state = (await describeState(agent)) ?? 'exited';
  throw new UserError(`kubelet-ts (pid ${agent.pid}, ${state}) still runs after SIGKILL`, {
    hint: 'It may wait for a disk or network file system that does not respond. Fix that, then run the command again.',
  });
}

async function hasExited(agent: ProcessIdentity, clock: Clock): Promise<boolean> {
  const lastMs = clock.monotonic() + busyGraceMs;
  const progress = new ProgressWatch(agent);
  let deadlineMs = clock.monotonic() + graceMs;
  while (await isRunning(agent)) {
    const now = clock.monotonic();
    if (await progress.hasProgressed()) deadlineMs = Math.min(lastMs, now + graceMs);
    if (now >= deadlineMs) return false;
    await clock.sleep(pollMs);
  }
  return true;
}

/**
 * Stops the OpenRC service whose supervise-daemon started the agent, because it restarts an agent that exits. OpenRC
 * then stops the agent too. Resolves with false if the agent has no OpenRC service.
 */
export async function stopSupervisor(agent: ProcessIdentity, stderr: Writable): Promise<boolean> {
  const service = await supervisedService(agent);
  if (service === undefined) return false;
  const { execa } = await import('execa');
  const args = ['--nocolor', service, 'stop'];
  const result = await execa('rc-service', args, { reject: false, stdin: 'ignore', timeout: stopLimitMs });
  if (!result.failed) return true;
  const output = result.stderr.trim();
  const why = visible((output === '' ? (result.shortMessage ?? '') : output).replaceAll('\n', ' '));
  stderr.write(`warning: rc-service ${service} stop failed, so OpenRC may start kubelet-ts again: ${why}\n`);
  return false;
}

/** The name of the service in the command line of the parent: `supervise-daemon NAME --start …`. */
async function supervisedService({ pid }: ProcessIdentity): Promise<string | undefined> {
  const parent = (await readStat(pid))?.parent;
  if (parent === undefined || !(await isOfThisRoot(parent))) return undefined;
  const [program = '', name = ''] = (await readProcessFile(parent, 'cmdline'))?.split('\0') ?? [];
  return basename(program) === 'supervise-daemon' && /^[A-Za-z0-9][\w.-]*$/.test(name) ? name : undefined;
}
