import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { readDocument, repository } from './documents.ts';

const themes = ['light', 'dark'];
const textsOf = (picture: string): string => readDocument(picture).replaceAll(/<[^>]+>/g, ' ');

test.each(themes)('the %s picture of the README shows pods, causes, events and a broken manifest', (theme) => {
  const texts = textsOf(`docs/start/screen-${theme}.svg`);
  const shown = ['kubelet-ts edge1', 'CrashLoopBackOff', 'exits with code 1', 'EVENTS', 'api.yaml:9:1'];
  expect(shown.filter((text) => !texts.includes(text))).toEqual([]);
});

test.each(themes)('the %s picture of a large screen also shows the log of the selected pod', (theme) => {
  const texts = textsOf(`docs/use/screen-large-${theme}.svg`);
  const shown = ['CrashLoopBackOff', 'in the last minute', 'LOG default/uploader-edge1', 'no route to upload.example'];
  expect(shown.filter((text) => !texts.includes(text))).toEqual([]);
});

test('a picture is the last frame before the terminal is restored, with its colours', () => {
  const cast = [
    { version: 2, width: 10, height: 2 },
    [0.1, 'o', '\u001b[1;1Hold\u001b[2J\u001b[2;3H\u001b[31ma<\u001b[7mb\u001b[0m'],
    [0.2, 'o', '\u001b[?1049lshell'],
  ];
  const svg = execFileSync('node', ['scripts/screen-picture.mjs', 'dark'], {
    cwd: repository,
    input: cast.map((line) => JSON.stringify(line)).join('\n'),
    encoding: 'utf8',
  });
  expect(svg.split('\n').slice(2)).toEqual([
    '<text x="28.8" y="43" fill="#ff7b72" textLength="16.8" xml:space="preserve">a&lt;</text>',
    '<rect x="45.6" y="30" width="8.4" height="18" fill="#ff7b72"/><text x="45.6" y="43" fill="#0d1117" textLength="8.4" xml:space="preserve">b</text>',
    '</svg>',
    '',
  ]);
});
