import { beforeEach, describe, expect, test } from 'vitest';
import type { CredentialProvider } from '../../../src/api/kubelet-configuration/credential-provider-config.ts';
import { CredentialPlugin } from '../../../src/engine/images/credential-plugin.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
const provider: CredentialProvider = {
  name: 'login',
  matchImages: ['*.example', 'registry.test:5000/team'],
  defaultCacheDuration: 60_000,
  apiVersion,
  args: [],
  env: [],
};

let clock: FakeClock;
let asked: string[];
let answer: string;

beforeEach(() => {
  clock = new FakeClock();
  asked = [];
  answer = response({});
});

function response(fields: Record<string, unknown>): string {
  return JSON.stringify({
    kind: 'CredentialProviderResponse',
    apiVersion,
    cacheKeyType: 'Registry',
    auth: { '*.example': { username: 'ada', password: 'pw' } },
    ...fields,
  });
}

const makePlugin = (overrides: Partial<CredentialProvider> = {}): CredentialPlugin =>
  new CredentialPlugin({
    provider: { ...provider, ...overrides },
    exec: (_, input) => {
      asked.push(input);
      return Promise.resolve(answer);
    },
    clock,
    logger: silentLogger,
  });

const known = new Map([['*.example', { username: 'ada', password: 'pw', identityToken: '' }]]);

test('a provider is asked for the images that fit, without their tags', async () => {
  const plugin = makePlugin();
  expect(await plugin.credentialsFor('r.example/app')).toEqual(known);
  expect(await plugin.credentialsFor('docker.io/library/app')).toEqual(new Map());
  expect(asked).toEqual([`{"kind":"CredentialProviderRequest","apiVersion":"${apiVersion}","image":"r.example/app"}`]);
});

describe('an answer', () => {
  test.each([
    ['Image', { 'r.example/app': 1, 'r.example/other': 2, 's.example/app': 3 }],
    ['Registry', { 'r.example/app': 1, 'r.example/other': 1, 's.example/app': 2 }],
    ['Global', { 'r.example/app': 1, 'r.example/other': 1, 's.example/app': 1 }],
  ])('for %s is good for just that', async (cacheKeyType, askedAfter) => {
    answer = response({ cacheKeyType });
    const plugin = makePlugin();
    for (const [image, times] of Object.entries(askedAfter)) {
      expect(await plugin.credentialsFor(image)).toEqual(known);
      expect(asked).toHaveLength(times);
    }
  });

  test.each([
    [undefined, 60_000],
    [null, 60_000],
    ['1m30s', 90_000],
  ])('with the cacheDuration %j is good for %d ms', async (cacheDuration, ms) => {
    answer = response({ cacheDuration });
    const plugin = makePlugin();
    await plugin.credentialsFor('r.example/app');
    await clock.advance(ms - 1);
    await plugin.credentialsFor('r.example/app');
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    await plugin.credentialsFor('r.example/app');
    expect(asked).toHaveLength(2);
  });

  test.each([
    ['0s', 60_000],
    [undefined, 0],
  ])('with the cacheDuration %j, by default %d ms, is not kept', async (cacheDuration, defaultCacheDuration) => {
    answer = response({ cacheDuration });
    const plugin = makePlugin({ defaultCacheDuration });
    await plugin.credentialsFor('r.example/app');
    await plugin.credentialsFor('r.example/app');
    expect(asked).toHaveLength(2);
  });

  test('is waited for once by all who ask for the image meanwhile', async () => {
    answer = response({ cacheDuration: '0s' });
    const plugin = makePlugin();
    const both = await Promise.all([plugin.credentialsFor('r.example/app'), plugin.credentialsFor('r.example/app')]);
    expect(both).toEqual([known, known]);
    expect(asked).toHaveLength(1);
  });

  test.each([
    ['secret', 'the answer is not a JSON object'],
    [response({ kind: 'Secret' }), 'the answer is not a CredentialProviderResponse'],
    [response({ apiVersion: 'v1' }), `the apiVersion of the answer is not ${apiVersion}`],
    [response({ cacheKeyType: '' }), 'the cacheKeyType of the answer is not Image, Registry or Global'],
    [response({ cacheDuration: 5 }), 'the cacheDuration of the answer is not a duration'],
    [response({ auth: { r: { password: 5 } } }), 'a username or password of the answer is not a string'],
    [response({ auth: 'secret' }), 'a part of the answer is not an object'],
  ])('%j counts as none, is told without what it holds, and is not kept', async (text, message) => {
    answer = text;
    const told: object[] = [];
    const measured: string[] = [];
    const plugin = new CredentialPlugin({
      provider,
      exec: () => Promise.resolve(answer),
      meter: {
        count: (name, labels) => measured.push([name, ...Object.values(labels)].join(' ')),
        observe: (name, _, labels) => measured.push([name, ...Object.values(labels)].join(' ')),
      },
      clock,
      logger: { ...silentLogger, error: (fields: object) => told.push(fields) },
    });
    expect(await plugin.credentialsFor('r.example/app')).toEqual(new Map());
    expect(told).toEqual([{ provider: 'login', image: 'r.example/app', err: message }]);
    answer = response({});
    expect(await plugin.credentialsFor('r.example/app')).toEqual(known);
    expect(measured).toEqual([
      'kubelet_credential_provider_plugin_errors_total login',
      'kubelet_credential_provider_plugin_duration_seconds login',
      'kubelet_credential_provider_plugin_duration_seconds login',
    ]);
  });
});
