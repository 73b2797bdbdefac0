import { expect, test } from 'vitest';
import { podNames } from '../../../src/commands/ps.ts';

test.each<[words: string[], names: string[]]>([
  [[], []],
  [['pods'], []],
  [
    ['po', 'web', 'db'],
    ['web', 'db'],
  ],
  [
    ['web', 'db'],
    ['web', 'db'],
  ],
  [
    ['node', 'web'],
    ['node', 'web'],
  ],
])('get %j lists the pods %j', (words, names) => {
  expect(podNames(words)).toEqual(names);
});

test.each([
  ['nodes', 'Show the node: kubelet-ts top node, and kubelet-ts doctor'],
  ['ns', expect.stringContaining('kubelet-ts validate FOLDER') as string],
  ['sc', expect.stringContaining('kubelet-ts validate FOLDER') as string],
  ['networkpolicies', expect.stringContaining('kubelet-ts validate FOLDER') as string],
])('get %s is an error with the command that shows it', (word, hint) => {
  expect(() => podNames([word])).toThrow(
    expect.objectContaining({ message: `kubelet-ts get cannot list "${word}"`, hint }) as Error,
  );
});
