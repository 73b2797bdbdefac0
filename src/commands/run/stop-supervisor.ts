import { basename } from 'node:path';
import type { Writable } from 'node:stream';
import { isOfThisRoot, type ProcessIdentity, readProcessFile, readStat } from '../../process/process-identity.ts';
import { visible } from '../../text/visible-text.ts';

/**
 * Stops the OpenRC service whose supervise-daemon started the agent, because it starts each agent again that ends.
 * OpenRC ends the agent too. Resolves with false if the agent has no such supervisor.
 */
export async function stopSupervisor(agent: ProcessIdentity, stderr: Writable): Promise<boolean> {
  const service = await supervisedService(agent);
  if (service === undefined) return false;
  const { execa } = await import('execa');
  const words = ['--nocolor', service, 'stop'];
  const ended = await execa('rc-service', words, { reject: false, stdin: 'ignore', timeout: limitMs });
  if (!ended.failed) return true;
  const said = ended.stderr.trim();
  const why = visible((said === '' ? (ended.shortMessage ?? '') : said).replaceAll('\n', ' '));
  stderr.write(`warning: rc-service ${service} stop failed, so OpenRC may start kubelet-ts again: ${why}\n`);
  return false;
}

/** Longer than OpenRC waits for the end of a service, in milliseconds. */
const limitMs = 60_000;

/** The name of the service in the command line of the parent: `supervise-daemon NAME --start …`. */
async function supervisedService({ pid }: ProcessIdentity): Promise<string | undefined> {
  const parent = (await readStat(pid))?.parent;
  if (parent === undefined || !(await isOfThisRoot(parent))) return undefined;
  const [program = '', name = ''] = (await readProcessFile(parent, 'cmdline'))?.split('\0') ?? [];
  return basename(program) === 'supervise-daemon' && /^[A-Za-z0-9][\w.-]*$/.test(name) ? name : undefined;
}
