import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage, UserError } from '../errors.ts';
import type { Logger } from '../logger.ts';

/** Settings of the kernel that the kubelet requires. kubelet: cm/container_manager_linux.go setupKernelTunables */
export const kernelTunables: Readonly<Record<string, string>> = {
  'vm.overcommit_memory': '1',
  'vm.panic_on_oom': '0',
  'kernel.panic': '10',
  'kernel.panic_on_oops': '1',
  'kernel.keys.root_maxkeys': '1000000',
  'kernel.keys.root_maxbytes': '25000000',
};

interface Options {
  /** Normally `/proc/sys`. */
  folder?: string;
}

/** Throws a `UserError` that lists every kernel setting that differs from what the kubelet requires. */
export async function requireKernelTunables({ folder = '/proc/sys' }: Options = {}): Promise<void> {
  const found = await Promise.all(
    Object.entries(kernelTunables).map(async ([name, wanted]) => ({ name, wanted, value: await read(folder, name) })),
  );
  const wrong = found.filter(({ value, wanted }) => value !== wanted);
  if (wrong.length === 0) return;
  const list = wrong.map(({ name, wanted, value = 'missing' }) => `${name} is ${value}, not ${wanted}`).join('; ');
  throw new UserError(`kernel settings differ and protectKernelDefaults is set: ${list}`, {
    hint: `Run sysctl -w ${wrong.map(({ name, wanted }) => `${name}=${wanted}`).join(' ')}, or leave out protectKernelDefaults.`,
  });
}

/** Sets these settings. Only logs those that this machine does not allow to be set, as in a container. */
export async function setKernelTunables(
  logger: Pick<Logger, 'info' | 'warn'>,
  { folder = '/proc/sys' }: Options = {},
): Promise<void> {
  const changed: string[] = [];
  const refused: string[] = [];
  for (const [name, wanted] of Object.entries(kernelTunables)) {
    const value = await read(folder, name);
    if (value === wanted) continue;
    try {
      await writeFile(pathOf(folder, name), wanted, { flag: 'r+' });
      changed.push(`${name}: ${value ?? ''} -> ${wanted}`);
    } catch (error) {
      refused.push(`${name}=${wanted} (${errorMessage(error)})`);
    }
  }
  if (changed.length > 0) logger.info({ changed }, 'Set kernel settings as the kubelet does');
  if (refused.length > 0) logger.warn({ refused }, 'Could not set kernel settings');
}

/** Returns undefined if the kernel does not have the setting. */
async function read(folder: string, name: string): Promise<string | undefined> {
  try {
    return (await readFile(pathOf(folder, name), 'utf8')).trim();
  } catch {
    return undefined;
  }
}

const pathOf = (folder: string, name: string): string => join(folder, ...name.split('.'));
