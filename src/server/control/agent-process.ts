import { readlink } from 'node:fs/promises';
import { parseHolder, recordHolder } from '../../files/file-lock.ts';
import { isRunning, type ProcessIdentity } from '../../process/process-identity.ts';

/** Records next to the control socket that this process is the agent, for clients that get no answer. */
export async function recordAgentProcess(socketPath: string): Promise<void> {
  await recordHolder(holderPath(socketPath));
}

/** The last recorded agent process, if it still runs. */
export async function readAgentProcess(socketPath: string): Promise<ProcessIdentity | undefined> {
  const text = await readlink(holderPath(socketPath)).catch(() => undefined);
  const agent = text === undefined ? undefined : parseHolder(text);
  return agent !== undefined && (await isRunning(agent)) ? agent : undefined;
}

function holderPath(socketPath: string): string {
  return `${socketPath}.holder`;
}
