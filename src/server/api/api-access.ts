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

/**
 * Why the API is disabled. Returns undefined if it is served: a port that no one or everyone may use is not opened.
 */
export function closedBecause(options: AccessOptions): string | undefined {
  if (!options.enableServer) return 'enableServer is false';
  if (options.clientCAFile !== '' || options.tokenAuthFile !== '' || options.authorizationPolicyFile !== '') {
    return undefined;
  }
  return 'no client authentication is configured: set authentication.x509.clientCAFile (--client-ca-file) or --token-auth-file';
}

/** Groups that may do everything on the API server of a cluster. */
const administrators: PolicyRule = {
  users: [],
  groups: ['system:masters', 'kubeadm:cluster-admins'],
  verbs: ['*'],
  resources: ['nodes/*'],
};

/**
 * The API server of kubeadm, as its client certificate names it. Up to 1.35 the certificate also has one of the
 * groups above; since 1.36 it has none, and kubeadm binds the user to the ClusterRole system:kubelet-api-admin. These
 * are the rights of that role: not `nodes/checkpoint`, which the role lacks too. Only an authority named like kubeadm's
 * counts, because another one may give this name to anybody. kubeadm: constants.go
 * APIServerKubeletClientCertCommonName; bootstrappolicy/policy.go ClusterRoles
 */
const apiServer: PolicyRule = {
  users: ['kube-apiserver-kubelet-client'],
  groups: [],
  issuer: 'kubernetes',
  verbs: ['*'],
  resources: ['proxy', 'stats', 'log', 'metrics', 'configz', 'healthz', 'pods'].map((part) => `nodes/${part}`),
};

/**
 * The rights of users. A local policy comes first. Other clients of a cluster's authority are kubelets and users, whose
 * rights only the API server knows, so without it `Webhook` refuses them.
 */
export function authorizationOf(
  { authorizationMode }: Pick<AccessOptions, 'authorizationMode'>,
  rules: readonly PolicyRule[] | undefined,
): Authorization {
  if (rules !== undefined) return { kind: 'policy', rules };
  return authorizationMode === 'AlwaysAllow' ? { kind: 'all' } : { kind: 'policy', rules: [administrators, apiServer] };
}
