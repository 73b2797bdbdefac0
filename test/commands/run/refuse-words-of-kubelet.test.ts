import { expect, test } from 'vitest';
import { refuseWordsOfKubelet } from '../../../src/commands/run/refuse-words-of-kubelet.ts';

test('under the name kubelet a word after flags is an unknown command, as for the kubelet', () => {
  expect(() => {
    refuseWordsOfKubelet(['word'], ['/usr/bin/node', '/usr/bin/kubelet', '--max-pods', '5', 'word']);
  }).toThrow(
    expect.objectContaining({
      name: 'UserError',
      message: 'unknown command word',
      hint: 'Under the name kubelet, manifests come from --pod-manifest-path or --config. kubelet-ts run takes them.',
    }),
  );
});

test.each([
  [[], ['node', '/usr/bin/kubelet', '--max-pods', '5']],
  [['word'], ['node', '/usr/bin/kubelet', 'run', 'word']],
  [['word'], ['node', '/usr/bin/kubelet-ts', 'run', 'word']],
])('takes the words %j of %j', (words, argv) => {
  expect(() => {
    refuseWordsOfKubelet(words, argv);
  }).not.toThrow();
});
