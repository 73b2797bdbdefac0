import { expect, test } from 'vitest';
import { type AccessOptions, authorizationOf, closedBecause } from '../../../src/server/api/api-access.ts';
import { isAllowed } from '../../../src/server/api/authorize.ts';
import { parsePolicy } from '../../../src/server/api/policy-file.ts';
import { parseTokens } from '../../../src/server/api/token-file.ts';
import { tlsLimits } from '../../../src/server/api/tls-options.ts';

const none: AccessOptions = {
  enableServer: true,
  clientCAFile: '',
  tokenAuthFile: '',
  authorizationPolicyFile: '',
  authorizationMode: 'AlwaysAllow',
  anonymousAuth: true,
};

test('no port opens before a client CA, tokens or a policy are given', () => {
  expect({
    nothing: closedBecause(none),
    clientCA: closedBecause({ ...none, clientCAFile: '/ca.crt' }),
    tokens: closedBecause({ ...none, tokenAuthFile: '/t.csv' }),
    policy: closedBecause({ ...none, authorizationPolicyFile: '/p.yaml' }),
    off: closedBecause({ ...none, clientCAFile: '/ca.crt', enableServer: false }),
  }).toEqual({
    nothing:
      'no client authentication is configured: set authentication.x509.clientCAFile (--client-ca-file) or --token-auth-file',
    clientCA: undefined,
    tokens: undefined,
    policy: undefined,
    off: 'enableServer is false',
  });
});

const subresources = ['proxy', 'stats', 'log', 'metrics', 'checkpoint', 'configz', 'healthz', 'pods', 'spec'] as const;
const everything = subresources.join(' ');
const ofKubeadm = { name: 'kube-apiserver-kubelet-client', issuer: 'kubernetes' };

test.each([
  // kubeadm to 1.28, then to 1.35, then since 1.36.
  [{ ...ofKubeadm, groups: ['system:masters'] }, everything],
  [{ ...ofKubeadm, groups: ['kubeadm:cluster-admins'] }, everything],
  [{ ...ofKubeadm, groups: [] }, 'proxy stats log metrics configz healthz pods'],
  [{ ...ofKubeadm, issuer: 'etcd-ca', groups: [] }, ''],
  [{ name: ofKubeadm.name, groups: [] }, ''],
  [{ ...ofKubeadm, name: 'kubernetes-admin', groups: ['kubeadm:cluster-admins'] }, everything],
  [{ ...ofKubeadm, name: 'kube-apiserver-etcd-client', groups: [] }, ''],
  [{ ...ofKubeadm, name: 'system:node:edge1', groups: ['system:nodes'] }, ''],
  [{ name: 'system:anonymous', groups: ['system:unauthenticated'] }, ''],
])('without a policy, %j may use what the RBAC of its cluster allows', (user, allowed) => {
  const webhook = authorizationOf({ authorizationMode: 'Webhook' }, undefined);
  for (const verb of ['get', 'create', 'update', 'patch', 'delete']) {
    const own = subresources.filter((name) => isAllowed(webhook, { user, verb, subresources: [name] }));
    expect(own.join(' ')).toBe(allowed);
  }
});

test('with AlwaysAllow all clients with valid credentials may do everything', () => {
  expect(authorizationOf({ authorizationMode: 'AlwaysAllow' }, undefined)).toEqual({ kind: 'all' });
});

test('a policy is read, and a mistake in it is named with its line', () => {
  const rule = 'rules:\n- users: [anna]\n  verbs: [get]\n  resources: [nodes/pods]\n';
  expect(parsePolicy(rule, 'p.yaml')).toEqual([
    { users: ['anna'], groups: [], verbs: ['get'], resources: ['nodes/pods'] },
  ]);
  expect(() => parsePolicy(rule.replace('get', 'read'), 'p.yaml')).toThrow(
    'p.yaml: line 3: unknown verbs "read"; known: get, create, update, patch, delete, *',
  );
  expect(() => parsePolicy(rule.replace('users: [anna]', 'user: anna'), 'p.yaml')).toThrow(
    'p.yaml: line 2: unknown field user; known: users, groups, verbs, resources',
  );
  expect(() => parsePolicy(rule.replace('  verbs: [get]\n', ''), 'p.yaml')).toThrow(
    'p.yaml: line 2: a rule needs verbs',
  );
});

test('a token file is read, and a mistake in it is named without the token', () => {
  expect([...parseTokens('# comment\nt1,anna,1,"a, b"\r\n\nt2,bob,2\n', 't.csv')]).toEqual([
    ['t1', { name: 'anna', groups: ['a', 'b'] }],
    ['t2', { name: 'bob', groups: [] }],
  ]);
  expect(() => parseTokens('secret,anna', 't.csv')).toThrow(
    't.csv: line 1: expected token,user,uid and, in quotes, groups',
  );
  expect(() => parseTokens('a,b,c\nsecret,anna,1,"x', 't.csv')).toThrow('t.csv: line 2: a quote is not closed');
  expect(() => parseTokens('a,b,c\na,d,e', 't.csv')).toThrow('t.csv: line 2: the token occurs twice');
});

test('names of Go become names of OpenSSL, and no version is older than 1.2', () => {
  const names = ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'TLS_AES_128_GCM_SHA256'];
  expect(tlsLimits({ tlsMinVersion: 'VersionTLS13', tlsCipherSuites: names })).toEqual({
    minVersion: 'TLSv1.3',
    ciphers: 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE-RSA-AES128-GCM-SHA256',
  });
  const versions = ['', 'VersionTLS10', 'VersionTLS11', 'VersionTLS12'];
  expect(versions.map((tlsMinVersion) => tlsLimits({ tlsMinVersion, tlsCipherSuites: [] }))).toEqual(
    versions.map(() => ({ minVersion: 'TLSv1.2' })),
  );
  expect(() => tlsLimits({ tlsMinVersion: '', tlsCipherSuites: ['NOSUCH'] })).toThrow(
    "Cipher suite NOSUCH not supported or doesn't exist",
  );
});
