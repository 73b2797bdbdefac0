import { readlink, rename, rm, symlink } from 'node:fs/promises';
import { UserError } from '../errors.ts';
import { holderText, parseHolder } from '../exclusively.ts';
import { describeState, isRunning, type ProcessIdentity } from '../process-identity.ts';

/** An agent is there and gives no answer, as one that is stopped. Commands that can do so go on without it. */
export class AgentSilentError extends UserError {
  /** Undefined when nobody can tell which process it is. */
  readonly agent: ProcessIdentity | undefined;

  private constructor(message: string, hint: string, agent: ProcessIdentity | undefined) {
    super(message, { hint });
    this.agent = agent;
  }

  /** What is known of the agent behind this socket. `what` is what it does in place of an answer. */
  static async of(socketPath: string, what = 'does not answer'): Promise<AgentSilentError> {
    const agent = await readAgentProcess(socketPath);
    if (agent === undefined) {
      return new AgentSilentError(
        `kubelet-ts ${what} on ${socketPath}`,
        'Look for its process (`ps -e`), and end it.',
        undefined,
      );
    }
    const { pid } = agent;
    const state = (await describeState(agent)) ?? 'gone';
    const goOn = state.startsWith('stopped') ? `Let it go on: kill -CONT ${pid}. Or end` : 'End';
    return new AgentSilentError(
      `kubelet-ts (pid ${pid}, ${state}) ${what}`,
      `${goOn} it: kill -KILL ${pid}, pods run on; kubelet-ts down ends its pods too.`,
      agent,
    );
  }
}

/** Notes beside its control socket that this process is the agent, for those that it will not answer. */
export async function noteAgentProcess(socketPath: string): Promise<void> {
  const link = holderPath(socketPath);
  const unnamed = `${link}.${process.pid}`;
  await rm(unnamed, { force: true });
  await symlink(await holderText(process.pid), unnamed);
  await rename(unnamed, link);
}

/** The process that noted itself last, if it still runs. */
async function readAgentProcess(socketPath: string): Promise<ProcessIdentity | undefined> {
  const text = await readlink(holderPath(socketPath)).catch(() => undefined);
  const agent = text === undefined ? undefined : parseHolder(text);
  return agent !== undefined && (await isRunning(agent)) ? agent : undefined;
}

function holderPath(socketPath: string): string {
  return `${socketPath}.holder`;
}
