import { expect, test } from 'vitest';
import { descriptionText } from '../../../src/commands/describe/description-text.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';

test('a pod is described with the file that declares it', async () => {
  const pods = [{ pod: makeStaticPod('web'), source: 'file' as const, declaredBy: { where: '/m/web.yaml' } }];
  const text = await descriptionText({ namespace: 'default', name: 'web-edge1', pods, history: [] }, 0);
  expect(text).toMatch(/^Source: +file: \/m\/web\.yaml$/m);
});

test('a removed pod whose manifest has an error is described with the error', async () => {
  const manifestProblems = [{ origin: '/m/web.yaml', line: 3, column: 1, severity: 'error' as const, message: 'bad' }];
  const found = { namespace: 'default', name: 'web-edge1', pods: [], history: [], manifestProblems };
  expect((await descriptionText(found, 0)).split('\n').slice(0, 4)).toEqual([
    'Name:       web-edge1',
    'Namespace:  default',
    'Manifest:   /m/web.yaml:3:1: error: bad',
    'Status:     removed',
  ]);
});

test('a pod of a source with versions is described with its repository and commit', async () => {
  const declaredBy = { where: 'git+https://box.example/fleet.git', version: 'a'.repeat(40) };
  const pods = [{ pod: makeStaticPod('web'), source: 'http' as const, declaredBy }];
  const text = await descriptionText({ namespace: 'default', name: 'web-edge1', pods, history: [] }, 0);
  expect(text.split('\n').filter((line) => /^(Source|Version):/.test(line))).toEqual([
    expect.stringMatching(/^Source: +http: git\+https:\/\/box\.example\/fleet\.git$/),
    expect.stringMatching(/^Version: +a{40}$/),
  ]);
});
