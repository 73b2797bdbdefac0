import { isDeepStrictEqual } from 'node:util';
import { Claims } from '../../api/values/claims.ts';
import { type ConfigObject, configObjectKey, type ConfigObjectLookup } from '../../api/values/config-object.ts';

/** Outcome of a new list of a source, as keys of objects. */
interface Replacement {
  /** Objects that were added, changed or removed. */
  changed: string[];
  /** Immutable objects with new content. They keep the old content. */
  refused: string[];
}

/**
 * The ConfigMaps and Secrets that all sources declare now. If two sources declare one object, the first one owns it
 * until it no longer declares it. An immutable object keeps its first content until its source removes it. After that
 * it can be declared with other content.
 */
export class ConfigObjects implements ConfigObjectLookup {
  private readonly bySource = new Map<string, ReadonlyMap<string, ConfigObject>>();
  private readonly claims = new Claims<string>();

  get(kind: ConfigObject['kind'], namespace: string, name: string): ConfigObject | undefined {
    return this.find(configObjectKey({ kind, namespace, name }));
  }

  /** Replaces the objects of a source with its new complete list. `source` is any unique text. */
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

  /** Finds an object by its `configObjectKey`. Returns undefined if no source declares it. */
  find(key: string): ConfigObject | undefined {
    return this.bySource.get(this.claims.owner(key) ?? '')?.get(key);
  }
}
