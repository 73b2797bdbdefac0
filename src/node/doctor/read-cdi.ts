import { join } from 'node:path';
import { parse } from 'yaml';
import { errorMessage } from '../../errors.ts';
import { listFolder } from '../../files/list-folder.ts';
import { pathExists } from '../../files/path-exists.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import type { CDIFile } from './checks/facts.ts';

/** The folders that containerd and CRI-O read by default. The later one wins. */
const folders = ['/etc/cdi', '/var/run/cdi'];
const maxBytes = 4 * 1024 * 1024;

/** Reads the files that describe devices for containers: Container Device Interface, SPEC.md. */
export async function readCDI(where: readonly string[] = folders): Promise<CDIFile[]> {
  const listed = where.map(async (folder) =>
    (await listFolder(folder, 'ENOTDIR'))
      .filter((name) => /\.(json|yaml)$/.test(name))
      .map((name) => join(folder, name)),
  );
  return Promise.all((await Promise.all(listed)).flat().sort().map(readCDIFile));
}

async function readCDIFile(path: string): Promise<CDIFile> {
  try {
    const text = (await readRegularFile(path, maxBytes, { followLinks: true })).toString();
    const { kind, devices, containerEdits } = fieldsOf(parse(text));
    if (typeof kind !== 'string' || !/^[\w.-]+\/[\w.-]+$/.test(kind))
      throw new Error('it has no kind, such as vendor.com/gpu');
    const list = itemsOf(devices);
    const edits = [containerEdits, ...list.map((device) => device['containerEdits'])].map(fieldsOf);
    const needed = edits.flatMap((edit) => [
      ...itemsOf(edit['deviceNodes']).map(({ hostPath, path: inside }) => ({
        use: 'device',
        path: hostPath ?? inside,
      })),
      ...itemsOf(edit['mounts']).map(({ hostPath }) => ({ use: 'mount', path: hostPath })),
      ...itemsOf(edit['hooks']).map(({ path: program }) => ({ use: 'hook', path: program })),
    ]);
    const missing = new Map<string, CDIFile['missing'][number]>();
    for (const { use, path: host } of needed) {
      if (typeof host === 'string' && host !== '' && !(await pathExists(host))) missing.set(host, { use, path: host });
    }
    const names = list.flatMap(({ name }) => (typeof name === 'string' ? `${kind}=${name}` : []));
    if (names.length === 0) throw new Error('it names no device');
    return { path, names, missing: [...missing.values()] };
  } catch (error) {
    return { path, error: errorMessage(error).split('\n')[0] ?? '', names: [], missing: [] };
  }
}

type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? { ...value } : {});
const itemsOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : []);
