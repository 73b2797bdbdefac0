import type { Authorization } from './authorize.ts';
import type { PolicyRule } from './policy-file.ts';

/** The configuration of the API. */
export interface AccessOptions {
  enableServer: boolean;
  clientCAFile: string;
  tokenAuthFile: string;
  authorizationPolicyFile: string;
  /** `AlwaysAllow` or `Webhook`. */
  authorizationMode: string;
  anonymousAuth: boolean;
}

/** Why the API is not served. Returns undefined if it is: no port opens that nobody may use, or everybody. */
export function closedBecause(options: AccessOptions): string | undefined {
  if (!options.enableServer) return 'enableServer is false';
  if (options.clientCAFile !== '' || options.tokenAuthFile !== '' || options.authorizationPolicyFile !== '') {
    return undefined;
  }
  return 'no client could be let in: set authentication.x509.clientCAFile (--client-ca-file) or --token-auth-file';
}

/**
 * Groups that an API server of kubeadm lets do everything. Its own client certificate is in one of them. Other clients
 * of the same authority are kubelets and users, whose rights only the API server knows.
 */
const administrators: readonly PolicyRule[] = [
  { users: [], groups: ['system:masters', 'kubeadm:cluster-admins'], verbs: ['*'], resources: ['nodes/*'] },
];

/** The rights of users. A local policy comes first. Without an API server, Webhook allows administrators alone. */
export function authorizationOf(
  { authorizationMode }: Pick<AccessOptions, 'authorizationMode'>,
  rules: readonly PolicyRule[] | undefined,
): Authorization {
  if (rules !== undefined) return { kind: 'policy', rules };
  return authorizationMode === 'AlwaysAllow' ? { kind: 'all' } : { kind: 'policy', rules: administrators };
}
