import { UserError } from '../../errors.ts';
import { describeState, type ProcessIdentity } from '../../process/process-identity.ts';
import { readAgentProcess } from './agent-process.ts';
import { findSocketHolder } from './socket-holder.ts';

/** The agent runs but cannot report its pods yet. */
export class AgentStartingError extends UserError {
  constructor(doing: string) {
    super(`kubelet-ts is starting: ${doing}`, { hint: 'Try again in a moment, or wait for it: kubelet-ts wait POD' });
  }
}

/** The agent runs but does not answer, for example because it is stopped. Commands that can work without it do so. */
export class AgentSilentError extends UserError {
  /** Undefined if the process is unknown. */
  readonly agent: ProcessIdentity | undefined;

  private constructor(message: string, hint: string, agent: ProcessIdentity | undefined) {
    super(message, { hint });
    this.agent = agent;
  }

  /**
   * Creates the error for the agent behind this socket. `what` is what the agent does instead of answering. `isBusy`
   * means that it makes progress, so the hint does not stop it.
   */
  static async of(
    socketPath: string,
    { what = 'does not answer', isBusy = false }: { what?: string; isBusy?: boolean } = {},
  ): Promise<AgentSilentError> {
    const agent = (await readAgentProcess(socketPath)) ?? (await findSocketHolder(socketPath));
    if (agent === undefined) {
      return new AgentSilentError(
        `kubelet-ts ${what} on ${socketPath}`,
        'Find its process with ps -e, and stop it.',
        undefined,
      );
    }
    const { pid } = agent;
    const state = (await describeState(agent)) ?? 'exited';
    if (isBusy) {
      const hint = `It works, but slowly. Try again in a moment, or see what it does: top -H -p ${pid}`;
      return new AgentSilentError(`kubelet-ts (pid ${pid}, busy) ${what}`, hint, agent);
    }
    const advice = state.startsWith('stopped') ? `Continue it: kill -CONT ${pid}. Or end` : 'End';
    return new AgentSilentError(
      `kubelet-ts (pid ${pid}, ${state}) ${what}`,
      `${advice} it: kill -KILL ${pid}, pods keep running; kubelet-ts down ends its pods too.`,
      agent,
    );
  }
}
