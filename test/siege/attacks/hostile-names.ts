import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { program } from '../../e2e/program.ts';
import { makePod, serve, shell } from '../../e2e/manifests.ts';
import type { Attack } from '../attack.ts';
import { makeOddFiles, oddFiles } from './odd-files.ts';
import { repeat } from './repeat.ts';

const escape = '\x1b[2J\x1b]0;owned\x07';
const names = [
  `${escape}.yaml`,
  'line\nerror: forged.yaml',
  'right\u202eto-left.yaml',
  `${'n'.repeat(250)}.yaml`,
  `${'ü'.repeat(125)}.yaml`,
  ' .yaml',
  '-rf.yaml',
  '\u0000'.replace('\u0000', '\u0001\u007f\u009b31m.yaml'),
  '%s%n${HOME}$(reboot).yaml',
  '*.yaml',
];

/** Manifests with hostile values at every place that is shown. */
const texts: Readonly<Record<string, string>> = {
  'bad-name': JSON.stringify(makePod(`x${escape}`, { containers: [shell('main', serve)] })),
  'bad-namespace': JSON.stringify(makePod('x', { namespace: '../../etc', containers: [shell('main', serve)] })),
  'bad-field': JSON.stringify({ ...makePod('x', { containers: [shell('main', serve)] }), [`f\n${escape}\u202e`]: 1 }),
  'bad-image': JSON.stringify(makePod('x', { containers: [shell('main', serve, { image: `a\n${escape}/../b` })] })),
  'bad-uid': JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x', uid: 'a\u0000/../b' }, spec: {} }),
  'bad-kind': JSON.stringify({ apiVersion: 'v1', kind: `Pod\n${escape}`, metadata: { name: 'x' } }),
  'long-name': JSON.stringify(makePod('x'.repeat(100_000), { containers: [shell('main', serve)] })),
  deep: '['.repeat(20_000),
  aliases: `a: &a [x,x,x]\n${Array.from({ length: 30 }, (_, index) => `b${index}: [*a,*a,*a]`).join('\n')}`,
};

/** Files of the manifest folder with names and contents that forge lines, move cursors, or are no files at all. */
export const hostileNames: Attack = {
  name: 'hostile-names',
  carryOn: async (siege) => {
    const { agent } = siege;
    const folder = agent.manifestsFolder;
    const close = await makeOddFiles(folder, '.yaml');
    try {
      await repeat(siege, 6000, async () => {
        const wanted = siege.random.times(1, 4, () => siege.random.pick(names));
        for (const name of wanted) await writeFile(join(folder, name), siege.random.pick(Object.values(texts)));
        await mkdir(join(folder, 'folder.yaml/deeper'), { recursive: true });
        for (const [name, text] of Object.entries(texts)) await agent.write(`${name}.json`, text);
        const { exitCode: code } = await execa(program, ['validate', join(folder, siege.random.pick(wanted))], {
          reject: false,
        });
        if (code === undefined || code > 2) throw new Error(`validate ended with ${String(code)}`);
      });
    } finally {
      close();
      const made = [
        ...names,
        ...oddFiles.map((name) => `${name}.yaml`),
        ...Object.keys(texts).map((name) => `${name}.json`),
      ];
      for (const name of made) await rm(join(folder, name), { recursive: true, force: true });
    }
  },
};
