import { expect, test } from 'vitest';
import { type VolumeContent, validateContent } from '../../../src/engine/volumes/volume-content.ts';

const contentOf = (...paths: string[]): VolumeContent =>
  new Map(paths.map((path) => [path, { data: Buffer.of(), mode: 0o644 }]));

test.each([
  ['', 'invalid path "" in the volume: must not be empty'],
  ['/etc/passwd', 'invalid path "/etc/passwd" in the volume: must be relative'],
  ['a/../../b', 'invalid path "a/../../b" in the volume: must not contain ".."'],
  ['..data', 'invalid path "..data" in the volume: must not begin with ".."'],
  ['./..data', 'invalid path "./..data" in the volume: must not begin with ".."'],
  ['.', 'invalid path "." in the volume: must name a file'],
  ['.//./', 'invalid path ".//./" in the volume: must name a file'],
  [`a/${'ü'.repeat(128)}`, `no part of it may be longer than 255 bytes`],
  [`${'abc/'.repeat(1024)}d`, 'must not be longer than 4096 bytes'],
])('the path "%s" is refused', (path, message) => {
  expect(() => {
    validateContent(contentOf('fine', path));
  }).toThrow(message);
});

test('a file cannot be a folder too', () => {
  expect(() => {
    validateContent(contentOf('a/b/c', 'a/b'));
  }).toThrow('the volume cannot have both a file "a/b" and "a/b/c" below it');
});

test('a file cannot be a folder too after their paths are normalized', () => {
  expect(() => {
    validateContent(contentOf('a//b', './a/b/c'));
  }).toThrow('the volume cannot have both a file "a/b" and "a/b/c" below it');
});

test.each(['a', 'a/b..c/d', '.hidden', 'a/...', 'a/..b'])('the path "%s" is fine', (path) => {
  expect([...validateContent(contentOf(path)).keys()]).toEqual([path]);
});
