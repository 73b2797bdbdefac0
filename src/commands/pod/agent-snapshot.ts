import type { Writable } from 'node:stream';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { AgentSilentError, AgentStartingError } from '../../server/control-call.ts';
import { controlSocketPath, fetchSnapshot } from '../../server/control-client.ts';

/**
 * The agent's snapshot, for a command that can do without: undefined if no agent runs, which is said on stderr where it has a
 * `consequence`, and if one is stuck or still starts, which is always said.
 */
export async function agentSnapshot(
  rootDir: string,
  stderr: Writable,
  consequence?: string,
): Promise<EngineSnapshot | undefined> {
  try {
    const snapshot = await fetchSnapshot(controlSocketPath(rootDir));
    if (snapshot === undefined && consequence !== undefined) {
      stderr.write(`warning: no kubelet-ts runs on ${rootDir}: ${consequence}\n`);
    }
    return snapshot;
  } catch (error) {
    if (!(error instanceof AgentSilentError || error instanceof AgentStartingError)) throw error;
    stderr.write(`warning: ${error.message}; this is what the container runtime says\n`);
    stderr.write(`hint: ${error.hint ?? ''}\n`);
    return undefined;
  }
}
