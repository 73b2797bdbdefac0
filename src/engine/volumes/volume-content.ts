import { UserError } from '../../errors.ts';

/** Content of one file of a volume. */
export interface FileProjection {
  data: Uint8Array;
  /** Permission bits. */
  mode: number;
}

/** The files of a volume by path, relative to the volume. kubelet: pkg/volume/util/atomic_writer.go FileProjection */
export type VolumeContent = ReadonlyMap<string, FileProjection>;

const maxPathBytes = 4096;
const maxNameBytes = 255;

/**
 * Returns the content by normalized path: `./a//b/` becomes `a/b`. If several files have the same path, the last one
 * wins. Throws a `UserError` if a path leaves the volume or conflicts with another path. kubelet: atomic_writer.go
 * validatePayload
 */
export function validateContent(content: VolumeContent): VolumeContent {
  const clean = new Map<string, FileProjection>();
  for (const [path, file] of content) {
    const broken = violatedRule(path);
    if (broken !== undefined) throw new UserError(`invalid path "${path}" in the volume: ${broken}`);
    clean.set(normalize(path), file);
  }
  for (const path of clean.keys()) {
    const parent = parentFolders(path).find((folder) => clean.has(folder));
    if (parent !== undefined)
      throw new UserError(`the volume cannot have both a file "${parent}" and "${path}" below it`);
  }
  return clean;
}

/** Normalizes a path without `..`. */
const normalize = (path: string): string =>
  path
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .join('/');

function violatedRule(path: string): string | undefined {
  const names = path.split('/');
  if (path === '') return 'must not be empty';
  if (path.startsWith('/')) return 'must be relative';
  if (Buffer.byteLength(path) > maxPathBytes) return `must not be longer than ${maxPathBytes} bytes`;
  if (names.some((name) => Buffer.byteLength(name) > maxNameBytes)) {
    return `no part of it may be longer than ${maxNameBytes} bytes`;
  }
  if (names.includes('..')) return 'must not contain ".."';
  const clean = normalize(path);
  if (clean === '') return 'must name a file';
  return clean.startsWith('..') ? 'must not begin with ".."' : undefined;
}

/** `a/b/c` is in `a` and `a/b`. */
function parentFolders(path: string): string[] {
  const names = path.split('/');
  return names.slice(1).map((_name, index) => names.slice(0, index + 1).join('/'));
}
