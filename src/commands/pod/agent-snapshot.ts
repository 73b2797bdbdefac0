import type { Writable } from 'node:stream';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { AgentSilentError, AgentStartingError } from '../../server/control/agent-errors.ts';
import { readAgentProcess } from '../../server/control/agent-process.ts';
import { fetchSnapshot } from '../../server/control/control-client.ts';
import { controlSocketPath, rootSocketPath } from '../../server/control/socket-paths.ts';
import { visible } from '../../text/visible-text.ts';

/**
 * The agent's snapshot, for a command that works without it. Returns undefined if no agent runs, with a warning on
 * stderr if `consequence` is given. Returns undefined with a warning if the agent is stuck or still starting. With
 * `settled` as `fetchSnapshot`.
 */
export async function agentSnapshot(
  rootDir: string,
  stderr: Writable,
  consequence?: string,
  { settled = false } = {},
): Promise<EngineSnapshot | undefined> {
  const snapshot = await agentAnswer(rootDir, stderr, (socketPath) => fetchSnapshot(socketPath, { settled }));
  if (snapshot === 'none' && consequence !== undefined) {
    stderr.write(visible(`warning: no kubelet-ts runs on ${rootDir}: ${consequence}`) + '\n');
  }
  return snapshot === 'none' || snapshot === 'silent' ? undefined : snapshot;
}

/**
 * An answer of the agent, for a command that works without it. Returns `none` if no agent runs. Returns `silent` with a
 * warning on stderr if the agent is stuck or still starting.
 */
export async function agentAnswer<T>(
  rootDir: string,
  stderr: Writable,
  ask: (socketPath: string) => Promise<T | undefined>,
): Promise<T | 'none' | 'silent'> {
  try {
    return (await ask(controlSocketPath(rootDir))) ?? 'none';
  } catch (error) {
    if (!(error instanceof AgentSilentError || error instanceof AgentStartingError)) throw error;
    stderr.write(`warning: ${error.message}; the data is from the container runtime\n`);
    stderr.write(`hint: ${error.hint ?? ''}\n`);
    return 'silent';
  }
}

/** True if the process of an agent runs on this root-dir, even if it is stuck or still starting. */
export async function hasAgentProcess(rootDir: string): Promise<boolean> {
  return (await readAgentProcess(rootSocketPath(rootDir))) !== undefined;
}
