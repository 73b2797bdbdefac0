import { expect, test } from 'vitest';
import { manifestBlobs } from '../../../src/origins/git/manifest-blobs.ts';

/** A tree of git with files of these sizes. */
const treeOf = (sizes: readonly number[]): string =>
  sizes.map((size, index) => `100644 blob ${'a'.repeat(40)} ${size}\t${index}.yaml\0`).join('');

test('a tree has at most 1000 manifests, and 10 MiB of them', () => {
  const mebibyte = 1024 * 1024;
  const most = Array.from({ length: 1000 }, () => 1);
  expect(manifestBlobs(treeOf(most), '').files).toHaveLength(1000);
  expect(() => manifestBlobs(treeOf([...most, 1]), '')).toThrow('there are more than 1000 manifests');
  expect(manifestBlobs(treeOf([4 * mebibyte, 6 * mebibyte]), '').files).toHaveLength(2);
  expect(() => manifestBlobs(treeOf([4 * mebibyte, 6 * mebibyte, 1]), '')).toThrow(
    'the manifests are larger than 10 MiB',
  );
});

test.each([
  [`${'a'.repeat(4092)}.yaml`, 'a file name is longer than 4096 bytes'],
  ['a\u0007.yaml', 'a file name has a control character'],
])('a file or link with such a name is refused: %#', (path, message) => {
  for (const mode of ['100644', '120000']) {
    expect(() => manifestBlobs(`${mode} blob ${'a'.repeat(40)} 1\t${path}\0`, '')).toThrow(message);
  }
});

test('names and folders that begin with a dot are left out', () => {
  const entry = (path: string): string => `100644 blob ${'a'.repeat(40)} 1\t${path}\0`;
  const paths = ['a.yaml', 'b/c.yml', 'b/d.json', '.e.yaml', '.f/g.yaml', 'b/.h/i.yaml', 'README.md'];
  expect(manifestBlobs(paths.map(entry).join(''), '').files.map(({ path }) => path)).toEqual([
    'a.yaml',
    'b/c.yml',
    'b/d.json',
  ]);
});
