import { isDeepStrictEqual } from 'node:util';
import { Claims } from '../../api/values/claims.ts';
import { type ConfigObject, configObjectKey, type ConfigObjectLookup } from '../../api/values/config-object.ts';

/** What became of a new list of a source, as keys of objects. */
interface Replacement {
  /** They are not what they were. */
  changed: string[];
  /** They are immutable, so they stay what they were. */
  refused: string[];
}

/**
 * The ConfigMaps and Secrets that all sources declare now. Of two sources that declare one object, the first one
 * gives it until it declares it no more. An immutable object can go, and come back as another one; until it
 * goes it is what it was when it came.
 */
export class ConfigObjects implements ConfigObjectLookup {
  private readonly bySource = new Map<string, ReadonlyMap<string, ConfigObject>>();
  private readonly claims = new Claims<string>();

  get(kind: ConfigObject['kind'], namespace: string, name: string): ConfigObject | undefined {
    return this.find(configObjectKey({ kind, namespace, name }));
  }

  /** Takes the complete list of a source, named by any text. */
  replace(source: string, objects: readonly ConfigObject[]): Replacement {
    const before = this.bySource.get(source);
    const after = new Map(objects.map((object) => [configObjectKey(object), object]));
    const refused = [...after.keys()].filter((key) => {
      const held = before?.get(key);
      if (held?.immutable !== true || isDeepStrictEqual(held, after.get(key))) return false;
      after.set(key, held);
      return true;
    });
    const keys = new Set([...(before?.keys() ?? []), ...after.keys()]);
    const was = new Map([...keys].map((key) => [key, this.find(key)]));
    this.bySource.set(source, after);
    this.claims.set(source, after.keys());
    const changed = [...keys].filter((key) => !isDeepStrictEqual(was.get(key), this.find(key))).sort();
    return { changed, refused };
  }

  /** By the key that `configObjectKey` gives. */
  find(key: string): ConfigObject | undefined {
    return this.bySource.get(this.claims.owner(key) ?? '')?.get(key);
  }
}
