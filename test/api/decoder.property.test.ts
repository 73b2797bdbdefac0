import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyDefaults } from '../../src/api/objects/apply-defaults.ts';
import { readManifest } from '../../src/api/decoding/manifest-document.ts';
import type { ManifestNode } from '../../src/api/text/manifest-node.ts';
import { toStaticPod } from '../../src/api/objects/static-pod.ts';
import { validatePod } from '../../src/api/validation/validate-pod.ts';
import { loadOptions } from '../builders/loaded-manifests.ts';
import { realisticPod } from '../builders/realistic-manifests.ts';
import { SeededRandom } from '../builders/seeded-random.ts';
import {
  MemberList,
  printJson,
  printYamlBlock,
  printYamlFlow,
  toTree,
  type ValueTree,
} from '../builders/value-tree.ts';
import { findFault, findFaultOfFirst, loadCase } from '../fuzz/fuzz-case.ts';
import { mutateStructure } from '../fuzz/mutate-structure.ts';
import { realisticObject } from '../fuzz/realistic-objects.ts';
import { propertyRuns, propertyTimeoutMs } from '../support/property-runs.ts';
import { decodeManifest } from '../builders/load-pod.ts';

// Slow machines are slow here; nothing waits.
const timeout = { timeout: propertyTimeoutMs };

const origin = '/manifests/web.yaml';

const printers: Readonly<Record<string, (tree: ValueTree) => string>> = {
  'JSON in one line': printJson,
  'JSON in many lines': (tree) => JSON.stringify(JSON.parse(printJson(tree)), undefined, 2),
  'JSON with CRLF': (tree) => JSON.stringify(JSON.parse(printJson(tree)), undefined, '\t').replaceAll('\n', '\r\n'),
  'YAML in brackets': printYamlFlow,
  'YAML in blocks': printYamlBlock,
  'YAML in blocks with CRLF': (tree) => printYamlBlock(tree).replaceAll('\n', '\r\n'),
  'YAML with comments': (tree) => printYamlBlock(tree).replaceAll('\n', ' # so\n\n'),
};

/** Any value but those numbers that JavaScript itself would not give back. */
const anyValue = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      '',
      ' ',
      '~',
      'null',
      'yes',
      '0x10',
      '1e3',
      '- a',
      'a: b',
      '#',
      '<<',
      '&a',
      '*a',
      '|',
      '{{ x }}',
      'é',
    ),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (Object.is(number, -0) ? 0 : number)),
    fc.constantFrom(null, true, false),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.string({ unit: 'binary', maxLength: 12 }), tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;

function plain(node: ManifestNode): unknown {
  switch (node.kind) {
    case 'null':
      return null;
    case 'bool':
    case 'string':
      return node.value;
    case 'number':
      return Number(node.text);
    case 'list':
      return node.items.map(plain);
    case 'object':
      return Object.fromEntries(node.entries.map(({ key, value }) => [key, plain(value)]));
  }
}

test.each(Object.entries(printers))('%s gives back every value', timeout, (_style, print) => {
  fc.assert(
    fc.property(anyValue, (value) => {
      const reading = readManifest(print(toTree({ value })), origin);
      expect('problem' in reading ? reading.problem : plain(reading.document.root)).toEqual({ value });
    }),
    propertyRuns(100),
  );
});

/** Objects with some of their values replaced, moved, dropped and renamed; no name comes twice in one object. */
const anyBrokenObject = fc.nat(100_000).map((seed) => {
  const random = new SeededRandom(seed);
  return withoutRepeats(mutateStructure(toTree(realisticObject(random, seed)), random));
});

/** The same of Pods alone. */
const anyBrokenPod = fc.nat(100_000).map((seed) => {
  const random = new SeededRandom(seed);
  return withoutRepeats(mutateStructure(toTree(realisticPod(random, seed)), random));
});

function withoutRepeats(tree: ValueTree): ValueTree {
  if (Array.isArray(tree)) return tree.map(withoutRepeats);
  if (!(tree instanceof MemberList)) return tree;
  return new MemberList([...new Map(tree.members.map(([name, value]) => [name, withoutRepeats(value)]))]);
}

test('a broken pod is decoded alike whatever its style', timeout, () => {
  fc.assert(
    fc.property(anyBrokenPod, (tree) => {
      // A text that is no object is YAML anyway, and one of 600 levels is nearly all indentation.
      if (!(tree instanceof MemberList) || printYamlBlock(tree).length > 20_000) return;
      const results = Object.values(printers).map((print) => {
        const { pod, problems } = decodeManifest(print(tree), origin);
        const found = problems.map(({ field, message, severity }) => ({
          field,
          message: message.replace(/^YAML/, 'JSON'),
          severity,
        }));
        return { pod, problems: found };
      });
      expect(results.slice(1)).toEqual(results.slice(1).map(() => results[0]));
    }),
    propertyRuns(100),
  );
});

test('the defaults of a pod with defaults are the same pod, and no pod is too strange to validate', timeout, () => {
  fc.assert(
    fc.property(anyBrokenPod, (tree) => {
      const { pod: raw } = decodeManifest(printJson(tree), origin);
      if (!raw) return;
      const pod = applyDefaults(raw);
      expect(applyDefaults(pod)).toEqual(pod);
      for (const { field, message } of validatePod(toStaticPod(raw, loadOptions))) {
        expect([typeof field, message === '']).toEqual(['string', false]);
      }
    }),
    propertyRuns(250),
  );
});

test.each(Object.entries(printers))('every problem of %s has a place inside of the text', timeout, (_style, print) => {
  fc.assert(
    fc.property(anyBrokenObject, (tree) => {
      const bytes = Buffer.from(print(tree));
      expect([findFault(loadCase(bytes), bytes), findFaultOfFirst(bytes)]).toEqual([undefined, undefined]);
    }),
    propertyRuns(60),
  );
});

test('a quantity is accepted, or an error with its position', timeout, () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^-?[0-9]{0,3}\.?[0-9]{0,3}[numkKMGTPEi]{0,2}$/)), (text) => {
      const resources = { limits: { cpu: text } };
      const spec = { containers: [{ name: 'c', image: 'i', resources }] };
      const manifest = printYamlBlock(toTree({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec }));
      const { pod, problems } = decodeManifest(manifest, origin);
      const places = problems.map(({ field, line, severity }) => ({ field, line, severity }));
      const place = { field: 'spec.containers[0].resources.limits[cpu]', line: 11, severity: 'error' };
      expect(places).toEqual(pod ? [] : [place]);
    }),
    propertyRuns(100),
  );
});
