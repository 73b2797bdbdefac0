import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { execa } from 'execa';
import { parse, TomlError, type TomlTable } from 'smol-toml';
import { hasCode, isOutOfResources } from '../errors.ts';
import { readFailure } from '../files/file-failure.ts';
import { listFolder } from '../files/list-folder.ts';
import { readRegularFile } from '../files/regular-file.ts';
import { isAtLeast } from './containerd-version.ts';
import type { InstalledContainerd } from './find-containerd.ts';
import { type DropIn, keyText, leavesOf, pathIn, valueAt } from './merge-drop-ins.ts';

/** The drop-ins of a managed containerd. */
export interface DropIns {
  /** Files that containerd accepts, in the order of their names. */
  readonly accepted: readonly DropIn[];
  /** A message for each file that containerd does not accept, with its reason. */
  readonly refused: readonly string[];
  /** A sentence for each key that it does not know. */
  readonly unknown: readonly string[];
  /** Differs if other files, or other contents, were accepted. Empty without files. */
  readonly stamp: string;
}

export const maxDropInBytes = 1024 * 1024;
const checkTimeoutMs = 10_000;

/** Reads the drop-ins in a folder, and has containerd check each one. Does not reject for what is broken. */
export async function readDropIns(
  folder: string,
  installed: Pick<InstalledContainerd, 'containerd' | 'version'>,
): Promise<DropIns> {
  const accepted: DropIn[] = [];
  const refused: string[] = [];
  const unknown: string[] = [];
  const hash = createHash('sha256');
  const names = await listFolder(folder).catch((error: unknown) => {
    if (isOutOfResources(error)) throw error;
    refused.push(`${folder} is left out: ${readFailure(error, 'folder')}`);
    return [];
  });
  for (const name of names.filter(isDropIn).sort()) {
    const file = join(folder, name);
    try {
      const text = (await readRegularFile(file, maxDropInBytes, { followLinks: true })).toString();
      const known = await checkedBy(installed, file);
      const config = parsed(text);
      refuseOddFile(config, installed);
      accepted.push({ file, config });
      hash.update(`${JSON.stringify([name, text])}\n`);
      const { version } = installed;
      for (const [path] of leavesOf(config)) {
        if (valueAt(known, pathIn(path, version)) === undefined)
          unknown.push(`${file}: containerd ${version.text} does not know ${keyText(path)}, so it has no effect`);
      }
    } catch (error) {
      const why = hasCode(error, 'ENOENT') ? 'it is a broken link' : readFailure(error);
      refused.push(`${file} is left out: ${why}`);
    }
  }
  return { accepted, refused, unknown, stamp: accepted.length === 0 ? '' : hash.digest('hex') };
}

/** True for the name of a file that is read: not a hidden one, nor the backup of an editor. */
export const isDropIn = (name: string): boolean => name.endsWith('.toml') && !name.startsWith('.');

/** Returns what containerd understands of a configuration file, with its defaults. Rejects with its error message. */
async function checkedBy({ containerd }: Pick<InstalledContainerd, 'containerd'>, file: string): Promise<TomlTable> {
  const { stdout, stderr, failed, shortMessage } = await execa(containerd, ['--config', file, 'config', 'dump'], {
    timeout: checkTimeoutMs,
    reject: false,
  });
  if (!failed) return parsed(stdout);
  // Its last message, after the lines of its log.
  const message = /^containerd: [^]*/m.exec(stderr)?.[0] ?? stderr.trim().split('\n').at(-1) ?? '';
  throw new Error(message === '' ? shortMessage : message.trim().replaceAll(/\s*\n\s*/g, ' '));
}

function parsed(text: string): TomlTable {
  try {
    return parse(text, { integersAsBigInt: true });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [what = ''] = error.message.split('\n');
    throw new Error(`line ${String(error.line)}, column ${String(error.column)}: ${what}`, { cause: error });
  }
}

/** containerd 1.6 would read nothing of a newer version, and each containerd little of one without a version. */
function refuseOddFile(config: TomlTable, { version }: Pick<InstalledContainerd, 'version'>): void {
  if ('imports' in config) throw new Error('imports are not read here; put those files into this folder');
  const versions = isAtLeast(version, 2, 0) ? [2n, 3n] : [2n];
  if (versions.some((one) => one === config['version'])) return;
  const wanted = versions.map((one) => `version = ${String(one)}`).join(' or ');
  throw new Error(`containerd ${version.text} needs ${wanted} at the top of it`);
}
