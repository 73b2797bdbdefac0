import { expect, test } from 'vitest';
import { refuseKubeletArguments } from '../../../src/commands/run/refuse-kubelet-arguments.ts';

test('under the name kubelet a word after flags is an unknown command, as for the kubelet', () => {
  expect(() => {
    refuseKubeletArguments(['word'], ['/usr/bin/node', '/usr/bin/kubelet', '--max-pods', '5', 'word']);
  }).toThrow(
    expect.objectContaining({
      name: 'UserError',
      message: 'unknown command word',
      hint: 'When it runs as kubelet, it reads manifests from --pod-manifest-path or --config. To name them as args: kubelet-ts run',
    }),
  );
});

test.each([
  [[], ['node', '/usr/bin/kubelet', '--max-pods', '5']],
  [['word'], ['node', '/usr/bin/kubelet', 'run', 'word']],
  [['word'], ['node', '/usr/bin/kubelet-ts', 'run', 'word']],
])('takes the words %j of %j', (words, argv) => {
  expect(() => {
    refuseKubeletArguments(words, argv);
  }).not.toThrow();
});
