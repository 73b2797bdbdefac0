import { expect, test } from 'vitest';
import { descriptionText } from '../../../src/commands/describe/description-text.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';

test('a pod of a source with versions is described with its repository and commit', async () => {
  const declaredBy = { where: 'git+https://box.example/fleet.git', version: 'a'.repeat(40) };
  const pods = [{ pod: makeStaticPod('web'), source: 'http' as const, declaredBy }];
  const text = await descriptionText({ namespace: 'default', name: 'web-edge1', pods, history: [] }, 0);
  expect(text.split('\n').filter((line) => /^(Source|Version):/.test(line))).toEqual([
    expect.stringMatching(/^Source: +http: git\+https:\/\/box\.example\/fleet\.git$/),
    expect.stringMatching(/^Version: +a{40}$/),
  ]);
});
