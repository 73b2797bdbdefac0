import { describe, expect, test } from 'vitest';
import { hideVariables, variableTexts } from '../../../src/engine/history/hide-variables.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';

describe('the texts that are to be hidden', () => {
  test('are the values of variables, of 8 characters and more and no names', () => {
    const pod = makeStaticPod('db', {
      spec: {
        containers: [
          {
            name: 'postgres',
            image: 'postgres:16',
            env: [
              { name: 'POSTGRES_DB', value: 'postgres' },
              { name: 'MODE', value: 'quicker' },
              { name: 'CITY', value: 'New York' },
              { name: 'DSN', value: 'postgres://app@db/app' },
            ],
          },
        ],
      },
    });
    expect(variableTexts(pod)).toEqual(['New York', 'postgres://app@db/app']);
  });
});

describe('a message', () => {
  test('has none of them, also when one is a part of another', () => {
    expect(hideVariables('open sesame: sesame is open sesame', ['sesame', 'open sesame'])).toBe(
      '<hidden>: <hidden> is <hidden>',
    );
  });

  test('is cut when it is long, after it was cleared', () => {
    expect(hideVariables(`${'x'.repeat(1020)}secret`, ['secret'])).toBe(`${'x'.repeat(1020)}<hid…`);
  });
});
