import type { Writable } from 'node:stream';
import type { EngineSnapshot } from '../engine/snapshot.ts';
import { AgentSilentError } from '../server/agent-silent-error.ts';
import { controlSocketPath, fetchSnapshot } from '../server/control-client.ts';

/**
 * The agent's snapshot, for a command that can do without: undefined if no agent runs, and if one is stuck, which is said on
 * stderr.
 */
export async function agentSnapshot(rootDir: string, stderr: Writable): Promise<EngineSnapshot | undefined> {
  try {
    return await fetchSnapshot(controlSocketPath(rootDir));
  } catch (error) {
    if (!(error instanceof AgentSilentError)) throw error;
    stderr.write(`warning: ${error.message}; this is what the container runtime says\n`);
    stderr.write(`hint: ${error.hint ?? ''}\n`);
    return undefined;
  }
}
