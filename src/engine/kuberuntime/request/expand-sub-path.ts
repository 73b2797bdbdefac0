import { expand } from '../../../api/values/expand.ts';
import type { Container } from '../../../api/types.ts';
import { UserError } from '../../../errors.ts';
import type { EnvironmentVariable } from './environment.ts';

/**
 * The part of its volume that a mount is about, empty for all of it. Throws a `UserError` for one that refers to a variable
 * which is missing or empty, or that would leave the volume.
 * kubelet: kubelet_pods.go makeMounts, container/helpers.go ExpandContainerVolumeMounts
 */
export function expandSubPath(
  { subPath = '', subPathExpr = '' }: NonNullable<Container['volumeMounts']>[number],
  envs: readonly EnvironmentVariable[],
): string {
  const path = subPathExpr === '' ? subPath : expandStrictly(subPathExpr, envs);
  if (path.startsWith('/')) throw new UserError(`error SubPath \`${path}\` must not be an absolute path`);
  if (path.split('/').includes('..')) {
    throw new UserError(`unable to provision SubPath \`${path}\`: must not contain '..'`);
  }
  return path;
}

function expandStrictly(text: string, envs: readonly EnvironmentVariable[]): string {
  const values = new Map(envs.map(({ name, value }) => [name, value]));
  const missing = new Set<string>();
  const expanded = expand(text, (name) => {
    const value = values.get(name) ?? '';
    if (value === '') missing.add(name);
    return value;
  });
  if (missing.size > 0) throw new UserError(`missing value for ${[...missing].sort().join(', ')}`);
  return expanded;
}
