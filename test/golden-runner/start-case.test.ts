import { describe, expect, test } from 'vitest';
import { startErrorsFile } from './server/start-errors-file.ts';
import { replayStart } from './start-case.ts';

const refused = [
  '--port=x',
  '--healthz-port=x',
  '--anonymous-auth=x',
  '--enable-debugging-handlers=x',
  '--streaming-connection-idle-timeout=x',
  '--feature-gates=x',
  '--eviction-hard=x',
  '--register-with-taints=x',
  '--v=x',
  '--nosuch',
  'extra',
  '--port=0',
  '--authorization-mode=',
  '--config=/nosuch.yaml',
];

describe.each(refused)('a recorded start with %s', (flag) => {
  const recorded = { flags: [flag], outcome: 'exit 1' };

  test('ends as that of the kubelet', async () => {
    expect(await replayStart(recorded)).toEqual({ expected: 'exit 1', actual: 'exit 1' });
  });

  test('passes as one of those that the servers refused', async () => {
    const { cases } = startErrorsFile.replay([{ ...recorded, stderr: [] }]);
    expect(await Promise.all(cases.map(({ run }) => run()))).toEqual([{ verdict: 'passed' }]);
  });
});

test('a recorded start that does not end is told from one that does', async () => {
  expect(await replayStart({ flags: ['--port=1'], outcome: 'exit 1' })).toEqual({ expected: 'exit 1', actual: 'runs' });
});

test.each([
  ['maxPods: 5', 'runs'],
  ['maxPods: many', 'exit 1'],
])('a recorded start has its configuration file, with %s', async (line, outcome) => {
  const config = `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${line}\n`;
  const flags = ['--config={base}/config.yaml'];
  expect(await replayStart({ flags, config, outcome })).toEqual({ expected: outcome, actual: outcome });
});
