import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { reasons } from '../../src/engine/view/reasons.ts';
import { documents, pages, readDocument, repository, rowsBelow } from './documents.ts';

const words = (path: string): number => readDocument(path).split(/\s+/).filter(Boolean).length;
const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

test('the README has at most 800 words, and all pages of docs 33,000', () => {
  expect(words('README.md')).toBeLessThanOrEqual(800);
  expect(sum(pages.map(words))).toBeLessThanOrEqual(33_000);
});

test('docs are at most 24 pages in four folders', () => {
  expect(new Set(pages.map(dirname))).toEqual(new Set(['docs/start', 'docs/use', 'docs/reference', 'docs/internals']));
  expect(pages.length).toBeLessThanOrEqual(24);
});

test('every page is linked by the README or another page', () => {
  const linked = documents.flatMap((document) =>
    [...readDocument(document).matchAll(/\]\(([^)#\s:]+\.md)(?:#[^)]*)?\)/g)].map(([, path = '']) =>
      join(dirname(document), path),
    ),
  );
  expect(pages.filter((page) => !linked.includes(page))).toEqual([]);
});

test.each(pages)('%s opens with an example, before its first heading', (page) => {
  const [opening = ''] = readDocument(page).split(/^## /m);
  expect(opening).toMatch(/^```/m);
});

/** The text of a page below a heading, or of the whole page: about a screenful. */
function screenful(page: string, heading = ''): string {
  const lines = readDocument(page).split('\n');
  const from = heading === '' ? 0 : lines.findIndex((line) => line === `## ${heading}`);
  return lines.slice(from, from + 40).join('\n');
}

test.each([
  ['run a pod at boot', 'docs/start/install.md', '', 'systemctl enable --now kubelet-ts'],
  ['run a job in CI', 'docs/start/ci.md', '', 'kubelet-ts run-once --isolated'],
  ['load an image without a registry', 'docs/use/images.md', '', 'kubelet-ts images load'],
  ['see why a pod does not run', 'docs/use/operate.md', '', 'kubelet-ts explain'],
  ['roll back', 'docs/use/operate.md', 'Change an image and roll back', 'kubelet-ts rollback'],
  ['keep data', 'docs/use/volumes.md', '', 'kind: PersistentVolumeClaim'],
  ['give a pod a name', 'docs/use/workloads.md', '', 'kind: Service'],
  ['see CPU and memory', 'docs/use/node.md', '', 'kubelet-ts top'],
  ['secure the API', 'docs/use/security.md', '', '--token-auth-file'],
  ['move to a cluster', 'docs/start/to-a-cluster.md', '', 'kubectl apply'],
])('how to %s is on the first screen of the page that the README links', (_question, page, heading, answer) => {
  const anchor = heading === '' ? '' : `#${heading.toLowerCase().replaceAll(' ', '-')}`;
  expect(readDocument('README.md')).toContain(`](${page}${anchor})`);
  expect(screenful(page, heading)).toContain(answer);
});

const taskPages = pages.filter((page) => page.startsWith('docs/use/'));

test.each(taskPages)('%s ends with what goes wrong and what it does not do', (page) => {
  const headings = [...readDocument(page).matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
  expect(headings.slice(-2)).toEqual(['When something goes wrong', 'What it does not do']);
});

/** All strings of the program in one text. */
const source = readdirSync(join(repository, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => readFileSync(join(repository, 'src', path), 'utf8'))
  .join('\n')
  .concat(readFileSync(join(repository, 'bin/kubelet-ts'), 'utf8'))
  .concat(readFileSync(join(repository, 'bin/node-version.cjs'), 'utf8'));

test('the symptoms that pages quote are messages of the program', () => {
  const symptoms = pages.flatMap((page) =>
    rowsBelow(readDocument(page), '## When something goes wrong').flatMap(([symptom = '']) =>
      [...symptom.matchAll(/`([^`]+)`/g)].map(([, quoted = '']) => ({ page, quoted })),
    ),
  );
  expect(symptoms.length).toBeGreaterThan(50);
  expect(symptoms.filter(({ quoted }) => !ofOtherPrograms.includes(quoted) && !isSaid(quoted))).toEqual([]);
});

/** Messages of commander and containerd. */
const ofOtherPrograms = ["missing required argument 'command'", 'failed to mkdir ""'];

/** True if all parts of a message are in the source: those between `…`, texts in quotes, numbers and colons. */
const isSaid = (quoted: string): boolean =>
  quoted
    .replace(/^error: /, '')
    .split(/…|"[^"]*"|\d[\w.]*|: /)
    .map((part) => part.trim())
    .filter((part) => part.length > 3)
    .every((part) => source.includes(part));

test('docs/reference/api.md names every reason of the program', () => {
  const page = readDocument('docs/reference/api.md');
  expect(Object.values(reasons).filter((reason) => !page.includes(`\`${reason}\``))).toEqual([]);
});

test('docs/reference/configuration.md has exactly the annotations of the program', () => {
  const names = (text: string): string[] =>
    [...new Set(text.match(/kubelet-ts\.io\/[a-z-]+/g))].filter((name) => basename(name) !== 'pause').toSorted();
  expect(names(readDocument('docs/reference/configuration.md'))).toEqual(names(source));
});
