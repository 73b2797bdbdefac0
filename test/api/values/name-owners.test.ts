import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { NameOwners } from '../../../src/api/values/name-owners.ts';
import { propertyRuns } from '../../support/property-runs.ts';

let claims: NameOwners<string>;

beforeEach(() => {
  claims = new NameOwners();
});

test('an object is taken from the file that declared it first, for as long as it does', () => {
  claims.set('b.yaml', ['Pod/default/web']);
  claims.set('a.yaml', ['Pod/default/web', 'Pod/default/db']);
  expect(claims.owner('Pod/default/web')).toBe('b.yaml');
  expect(claims.owner('Pod/default/db')).toBe('a.yaml');
  claims.set('b.yaml', ['Pod/default/web', 'Pod/default/job']);
  expect(claims.owner('Pod/default/web')).toBe('b.yaml');
  claims.set('b.yaml', []);
  expect(claims.owner('Pod/default/web')).toBe('a.yaml');
});

test('who let an object go and declares it again comes last', () => {
  claims.set('a.yaml', ['Pod/default/web']);
  claims.set('b.yaml', ['Pod/default/web']);
  claims.set('a.yaml', []);
  claims.set('a.yaml', ['Pod/default/web']);
  expect(claims.contested()).toEqual(new Map([['Pod/default/web', ['b.yaml', 'a.yaml']]]));
});

test('what one file declares alone is not contested', () => {
  claims.set('a.yaml', ['Pod/default/web', 'Pod/default/db']);
  claims.set('b.yaml', ['Pod/default/web']);
  expect([...claims.contested().keys()]).toEqual(['Pod/default/web']);
  claims.set('b.yaml', []);
  expect(claims.contested()).toEqual(new Map());
});

test('the order can be changed', () => {
  claims.set('b.yaml', ['Pod/default/web']);
  claims.set('a.yaml', ['Pod/default/web']);
  claims.sort('Pod/default/web', (a, b) => (a < b ? -1 : 1));
  expect(claims.owner('Pod/default/web')).toBe('a.yaml');
});

test('whatever files declare, an object has one owner, which declares it, and is contested when several do', () => {
  const files = fc.constantFrom('a.yaml', 'b.yaml', 'c.yaml');
  const keys = ['web', 'db', 'job'];
  fc.assert(
    fc.property(fc.array(fc.tuple(files, fc.subarray(keys))), (changes) => {
      const some = new NameOwners<string>();
      const declared = new Map<string, readonly string[]>();
      for (const [file, now] of changes) {
        some.set(file, now);
        declared.set(file, now);
      }
      for (const key of keys) {
        const claimants = [...declared].filter(([, now]) => now.includes(key)).map(([file]) => file);
        const owner = some.owner(key);
        expect(owner === undefined ? claimants : claimants.includes(owner)).toEqual(owner === undefined ? [] : true);
        expect([...(some.contested().get(key) ?? [])].sort()).toEqual(claimants.length > 1 ? claimants.sort() : []);
      }
    }),
    propertyRuns(100),
  );
});
