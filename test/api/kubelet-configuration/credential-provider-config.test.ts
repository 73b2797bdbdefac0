import { describe, expect, test } from 'vitest';
import { loadCredentialProviderConfig } from '../../../src/api/kubelet-configuration/credential-provider-config.ts';

const head = 'apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\n';
const load = (text: string): ReturnType<typeof loadCredentialProviderConfig> =>
  loadCredentialProviderConfig(Buffer.from(text), 'providers.yaml');
const messages = (text: string): string[] =>
  load(text).problems.map(({ field, message, severity }) => `${severity}: ${field ?? ''}: ${message}`);

const login = `
  name: login
  matchImages: ['*.example']
  defaultCacheDuration: 10m
  apiVersion: credentialprovider.kubelet.k8s.io/v1`;
const providers = (...items: string[]): string =>
  `${head}providers:\n${items.map((item) => `-${item.slice(2)}`.replace(/^- /, '- ')).join('\n')}`;

test('providers are read with all they have', () => {
  expect(load(providers(`${login}\n  args: [get]\n  env: [{name: REGION, value: eu}]`))).toEqual({
    providers: [
      {
        name: 'login',
        matchImages: ['*.example'],
        defaultCacheDuration: 600_000,
        apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
        args: ['get'],
        env: [{ name: 'REGION', value: 'eu' }],
      },
    ],
    problems: [],
  });
});

describe('refused is', () => {
  test.each([
    ['a file of another kind', 'apiVersion: v1\nkind: Pod', ['error: kind: kind "Pod" is not supported']],
    [
      'a version that nobody knows',
      'apiVersion: kubelet.config.k8s.io/v2\nkind: CredentialProviderConfig',
      ['error: apiVersion: apiVersion "kubelet.config.k8s.io/v2" is not supported'],
    ],
    ['a file without providers', head, ['error: providers: Required value: at least one provider is needed']],
    ['an unknown field', `${providers(login)}\n  arguments: []`, ['error: providers[0].arguments: ']],
    [
      'a provider that lacks what is needed',
      `${head}providers: [{}]`,
      [
        'error: providers[0].name: Required value: must be set',
        'error: providers[0].apiVersion: Required value: must be set',
        'error: providers[0].matchImages: Required value: at least one pattern is needed',
        'error: providers[0].defaultCacheDuration: Required value: must be set',
      ],
    ],
    [
      'a name that leads elsewhere',
      providers(login.replace('login', '../login')),
      ['error: providers[0].name: Invalid value: "../login": must be the name of a file, without spaces and slashes'],
    ],
    ['a name twice', providers(login, login), ['error: providers[1].name: Duplicate value: "login"']],
    [
      'a form that nobody speaks',
      providers(login.replace('k8s.io/v1', 'k8s.io/v7')),
      ['error: providers[0].apiVersion: Unsupported value: "credentialprovider.kubelet.k8s.io/v7": '],
    ],
  ])('%s', (_, text, expected) => {
    const found = messages(text);
    expect(found).toHaveLength(expected.length);
    for (const [index, message] of expected.entries()) expect(found[index]).toContain(message);
  });
});
