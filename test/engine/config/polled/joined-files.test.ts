import { expect, test } from 'vitest';
import { joinFiles, loadJoinedFiles, type NamedManifest } from '../../../../src/engine/config/polled/joined-files.ts';
import { loadManifest } from '../../../../src/engine/config/load-manifest.ts';
import { podManifest } from './asking.ts';

const where = 'git+https://box.example/fleet.git';
const node = { nodeName: 'edge1' };
const file = (path: string, text: string): NamedManifest => ({ path, bytes: Buffer.from(text) });
const load = (...files: NamedManifest[]) => loadJoinedFiles(joinFiles(files), where, node, 'http');

/** Names of pods, and problems with their places. */
function summary({ pods, problems }: ReturnType<typeof load>) {
  return {
    pods: pods.map(({ metadata }) => metadata.name),
    problems: problems.map(({ origin, line, message }) => `${origin}:${line ?? ''} ${message}`),
  };
}

const yaml = 'apiVersion: v1\nkind: Pod\nmetadata: {name: yäml}\nspec: {containers: [{name: c, image: i}]}';

test('all files declare their pods, JSON with tabs and a byte order mark too', () => {
  const json = JSON.stringify(JSON.parse(podManifest('json')), null, '\t');
  const loaded = load(
    file('a/web.json', json),
    file('ü.yaml', `\uFEFF${yaml.replace('ä', 'a')}`),
    file('w.yaml', podManifest('w')),
  );
  expect(summary(loaded)).toEqual({ pods: ['json-edge1', 'yaml-edge1', 'w-edge1'], problems: [] });
});

test('a problem names the file and its line', () => {
  const loaded = load(file('ok.yaml', podManifest('web')), file('a b/ü.yaml', yaml));
  expect(summary(loaded).problems).toEqual([
    expect.stringMatching(/^git\+https:\/\/box\.example\/fleet\.git\/\/a b\/ü\.yaml:3 Invalid value: "yäml/),
  ]);
});

test('a file that is broken YAML does not swallow the next one', () => {
  const { pods, problems } = load(file('a.yaml', 'a: "'), file('b.yaml', podManifest('web')));
  expect(pods).toHaveLength(1);
  expect(problems.map(({ origin }) => origin)).toEqual([`${where}//a.yaml`]);
});

test('two files with one pod are an error', () => {
  const { problems } = load(file('a.yaml', podManifest('web')), file('b.yaml', podManifest('web')));
  expect(problems).toEqual([
    {
      origin: `${where}//b.yaml`,
      severity: 'error',
      field: 'metadata.name',
      message: `Pod default/web-edge1 is declared by ${where}//a.yaml already`,
      hint: 'Remove one of them, or give it another name.',
      repeatedPod: { namespace: 'default', name: 'web-edge1' },
    },
  ]);
});

test('the text is one manifest for programs that do not know of files, with the same UIDs', () => {
  const files = [file('a.yaml', podManifest('web')), file('b.yaml', `---\n${podManifest('other')}\n---\n`)];
  const asOne = loadManifest(joinFiles(files), where, node, 'http');
  expect(asOne.pods.map(({ metadata }) => metadata)).toEqual(load(...files).pods.map(({ metadata }) => metadata));
  expect(asOne.pods).toHaveLength(2);
});
