import { basename, extname } from 'node:path';

const extensions: readonly string[] = ['.yaml', '.yml', '.json'];

/**
 * Why a file in a manifest folder is not read, or undefined when it is. The kubelet reads every file that does not begin
 * with a dot, so that a backup beside a manifest fights with it; here only manifests are read (docs/architecture.md).
 */
export function ignoredBecause(path: string): string | undefined {
  const name = basename(path);
  if (name.startsWith('.')) return 'its name begins with a dot';
  if (name.endsWith('~') || (name.startsWith('#') && name.endsWith('#'))) return 'it looks like an editor backup';
  if (!extensions.includes(extname(name))) return `its name does not end in ${extensions.join(', ')}`;
  return undefined;
}
