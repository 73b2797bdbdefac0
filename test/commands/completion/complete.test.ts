import { Command } from 'commander';
import { expect, test } from 'vitest';
import type { CommandDeps } from '../../../src/commands/io/deps.ts';
import { complete } from '../../../src/commands/completion/complete.ts';
import { register as registerCompletion } from '../../../src/commands/completion.ts';
import { register as registerDebug } from '../../../src/commands/debug.ts';
import { register as registerEvents } from '../../../src/commands/events.ts';
import { register as registerImages } from '../../../src/commands/images.ts';
import { register as registerLogs } from '../../../src/commands/logs.ts';
import { register as registerPs } from '../../../src/commands/ps.ts';
import { register as registerWait } from '../../../src/commands/wait.ts';
import type { EngineSnapshot } from '../../../src/engine/view/snapshot.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';

const pod = (name: string, namespace = 'default', ...containers: string[]): object => ({
  pod: makePod({
    metadata: { name: `${name}-edge1`, namespace },
    spec: { nodeName: 'edge1', containers: containers.map((one) => makeContainer({ name: one })) },
  }),
});
const snapshot = {
  nodeName: 'edge1',
  pods: [pod('web', 'default', 'app', 'side'), pod('dns', 'default', 'dns'), pod('dns', 'kube-system', 'coredns')],
} as unknown as EngineSnapshot;

const registers = [
  registerCompletion,
  registerDebug,
  registerEvents,
  registerImages,
  registerLogs,
  registerPs,
  registerWait,
];

async function words(...typed: string[]): Promise<string[]> {
  const program = new Command();
  for (const register of registers) register(program, {} as CommandDeps);
  const candidates = await complete(typed, {
    commands: program.commands.map((command) => ({ word: command.name() })),
    load: (name) => Promise.resolve(program.commands.find((command) => command.name() === name)),
    snapshot: (rootDir) => Promise.resolve(rootDir === '/other' ? undefined : snapshot),
  });
  return candidates.map(({ word }) => word);
}

test.each<[typed: string[], words: string[]]>([
  [[''], ['completion', 'debug', 'events', 'images', 'logs', 'ps', 'wait']],
  [['lo'], ['logs']],
  [
    ['logs', ''],
    ['web', 'default/dns', 'kube-system/dns'],
  ],
  [['logs', 'w'], ['web']],
  [['logs', 'kube-system/'], ['kube-system/dns']],
  [['logs', '-n', 'kube-system', ''], ['dns']],
  [
    ['logs', '-n', ''],
    ['default', 'kube-system'],
  ],
  [
    ['logs', 'web', '-c', ''],
    ['app', 'side'],
  ],
  [['logs', '-c', 'co'], ['coredns']],
  [
    ['logs', '-f', 'web', ''],
    ['app', 'side'],
  ],
  [['logs', 'web', '--container=a'], ['--container=app']],
  [['logs', 'web', '--container', '=', 'a'], ['app']],
  [
    ['logs', '-f', ''],
    ['web', 'default/dns', 'kube-system/dns'],
  ],
  [['logs', '--root-dir', '/other', ''], []],
  [['logs', '--root-dir', ''], []],
  [['logs', '--all'], ['--all-containers']],
  [
    ['wait', 'web', ''],
    ['web', 'default/dns', 'kube-system/dns'],
  ],
  [['events', '--for', 'w'], ['web']],
  [['wait', 'web', '--for', 'de'], ['deleted']],
  [
    ['wait', '--for', '='],
    ['ready', 'completed', 'updated', 'deleted', 'condition=', 'jsonpath='],
  ],
  [
    ['ps', '-o', ''],
    ['wide', 'json', 'yaml', 'name', 'jsonpath=', 'custom-columns='],
  ],
  [
    ['debug', 'web', '--image-pull-policy', ''],
    ['Always', 'IfNotPresent', 'Never'],
  ],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish'],
  ],
  [
    ['images', ''],
    ['load', 'repair', 'pull', 'bundle', 'list', 'tag', 'rm', 'prune'],
  ],
  [['images', 'load', ''], []],
  [['unknown', ''], []],
  [['logs', '--', ''], []],
])('after %j the words are %j', async (typed, expected) => {
  expect(await words(...typed)).toEqual(expected);
});
