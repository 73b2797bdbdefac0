import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } from '@actions/workflow-parser';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '../..');
const workflows = join(root, '.github/workflows');

async function problemsOf(name: string, content: string): Promise<string[]> {
  const { context, value } = parseWorkflow({ name, content }, new NoOperationTraceWriter());
  if (value) await convertWorkflowTemplate(context, value);
  return context.errors.getErrors().map(({ message }) => message);
}

test("GitHub's own parser accepts the workflows", async () => {
  const names = await readdir(workflows);
  const problems = await Promise.all(
    names.map(async (name) => [name, await problemsOf(name, await readFile(join(workflows, name), 'utf8'))]),
  );
  expect(Object.fromEntries(problems)).toEqual({ 'release.yml': [], 'test.yml': [] });
});

test('it would report a step that is misspelled', async () => {
  expect(await problemsOf('bad.yml', 'on: push\njobs: { a: { runs-on: x, steps: [{ rum: y }] } }\n')).not.toEqual([]);
});

test('the scripts that the workflows run exist', async () => {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { scripts: object };
  const text = (
    await Promise.all((await readdir(workflows)).map((name) => readFile(join(workflows, name), 'utf8')))
  ).join();
  const used = [...text.matchAll(/run: .*npm (?:run )?(\w+)$/gm)].map(([, name = '']) => name);
  expect(used).toEqual(['ci', 'package', 'ci', 'check', 'test']);
  expect(used.filter((name) => name !== 'ci' && !(name in scripts))).toEqual([]);
});

test('the templates of issues are forms with a label for each field', async () => {
  const folder = join(root, '.github/ISSUE_TEMPLATE');
  const forms = (await readdir(folder)).filter((name) => name !== 'config.yml');
  const labels = await Promise.all(
    forms.map(async (name) => {
      const { body } = parse(await readFile(join(folder, name), 'utf8')) as {
        body: { attributes: { label?: string } }[];
      };
      return [name, body.every(({ attributes }) => attributes.label !== undefined)];
    }),
  );
  expect(Object.fromEntries(labels)).toEqual({ 'bug.yml': true, 'idea.yml': true });
});
