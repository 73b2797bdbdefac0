import { describe, expect, test } from 'vitest';
import { hideSecrets, secretTexts } from '../../../src/engine/history/hide-secrets.ts';
import { configObjectsOf, makeConfigMap, makeSecret } from '../../builders/config-objects.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';

describe('the texts that are to be hidden', () => {
  test('are the values of every Secret of the pod, whole and line by line, and those of its variables', () => {
    const pod = makeStaticPod('db', {
      spec: {
        containers: [
          {
            name: 'postgres',
            image: 'postgres:16',
            env: [
              { name: 'POSTGRES_DB', value: 'postgres' },
              { name: 'MODE', value: 'fast' },
              { name: 'DSN', value: 'postgres://app@db/app' },
            ],
            envFrom: [{ secretRef: { name: 'login' } }, { configMapRef: { name: 'settings' } }],
          },
        ],
        volumes: [{ name: 'tls', secret: { secretName: 'tls' } }],
      },
    });
    const objects = configObjectsOf(
      makeSecret('login', { password: 'correct horse\n', pin: '17' }),
      makeSecret('tls', { key: 'BEGIN\nabcdef\nEND' }),
      makeSecret('others', { password: 'of another pod' }),
      makeConfigMap('settings', { colour: 'ultramarine' }),
    );
    expect(secretTexts(pod, objects)).toEqual([
      'correct horse\n',
      'correct horse',
      'BEGIN\nabcdef\nEND',
      'BEGIN',
      'abcdef',
      'postgres://app@db/app',
    ]);
  });
});

describe('a message', () => {
  test('has none of them, also when one is a part of another', () => {
    expect(hideSecrets('open sesame: sesame is open sesame', ['sesame', 'open sesame'])).toBe(
      '<hidden>: <hidden> is <hidden>',
    );
  });

  test('is cut when it is long, after it was cleared', () => {
    expect(hideSecrets(`${'x'.repeat(1020)}secret`, ['secret'])).toBe(`${'x'.repeat(1020)}<hid…`);
  });
});
