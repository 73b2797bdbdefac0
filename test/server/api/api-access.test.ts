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
    nothing: 'no client could be let in: set authentication.x509.clientCAFile (--client-ca-file) or --token-auth-file',
    clientCA: undefined,
    tokens: undefined,
    policy: undefined,
    off: 'enableServer is false',
  });
});

test('without a policy and an API server, only administrators of a cluster may do anything', () => {
  const webhook = authorizationOf({ authorizationMode: 'Webhook' }, undefined);
  const mayExec = (...groups: string[]): boolean =>
    isAllowed(webhook, { user: { name: 'anna', groups }, verb: 'create', subresources: ['proxy'] });
  expect({
    masters: mayExec('system:masters', 'system:authenticated'),
    kubeadm: mayExec('kubeadm:cluster-admins', 'system:authenticated'),
    node: mayExec('system:nodes', 'system:authenticated'),
    anonymous: mayExec('system:unauthenticated'),
  }).toEqual({ masters: true, kubeadm: true, node: false, anonymous: false });
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
