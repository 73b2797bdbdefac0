import type { User } from './user.ts';
import type { PolicyRule } from './policy-file.ts';
import type { Subresource } from './route-table.ts';

/** `all` allows anonymous clients too, if they are authenticated as such. */
export type Authorization = { kind: 'all' } | { kind: 'policy'; rules: readonly PolicyRule[] };

const verbs: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Empty for other methods. kubelet: server/auth.go GetRequestAttributes */
export const verbOf = (method: string): string => verbs[method] ?? '';

/** True if the user may do this to at least one of these subresources of the node. */
export function isAllowed(
  authorization: Authorization,
  { user, verb, subresources }: { user: User; verb: string; subresources: readonly Subresource[] },
): boolean {
  if (authorization.kind === 'all') return true;
  return authorization.rules.some(
    (rule) =>
      (rule.users.includes(user.name) || rule.groups.some((group) => user.groups.includes(group))) &&
      (rule.issuer === undefined || rule.issuer === user.issuer) &&
      (rule.verbs.includes('*') || rule.verbs.includes(verb)) &&
      subresources.some((name) => rule.resources.includes(`nodes/${name}`) || rule.resources.includes('nodes/*')),
  );
}

/** kubelet: server/server.go InstallAuthFilter */
export function forbiddenText(user: User, verb: string, subresources: readonly Subresource[]): string {
  return `Forbidden (user=${user.name}, verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(' ')}])\n`;
}
