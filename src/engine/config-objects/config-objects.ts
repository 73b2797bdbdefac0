import { isDeepStrictEqual } from 'node:util';
import { NameOwners } from '../../api/values/name-owners.ts';
import {
  type ConfigData,
  type ConfigObject,
  configObjectKey,
  type ConfigObjectLookup,
  isConfigData,
  isNodeClass,
  isServiceAddresses,
} from '../../api/values/config-object.ts';
import {
  type NodeClassLookup,
  nodeClassesIn,
  type PriorityClass,
  type RuntimeClass,
} from '../../api/values/node-class.ts';
import type { Service, ServiceAddresses } from '../../api/values/service.ts';
import type {
  CSIDriver,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageLookup,
} from '../../api/values/persistent-volume.ts';

/** Outcome of a new list of a source, as keys of objects. */
interface Replacement {
  /** Objects that were added, changed or removed. */
  changed: string[];
  /** Immutable objects with new content. They keep the old content. */
  refused: string[];
}

/**
 * The ConfigMaps, Secrets, Services, classes and storage objects that all sources declare now. If two sources declare
 * one object, the first one owns it until it no longer declares it. An immutable object keeps its first content until
 * its source removes it. After that it can be declared with other content.
 */
export class ConfigObjects implements ConfigObjectLookup, NodeClassLookup, StorageLookup {
  private readonly bySource = new Map<string, ReadonlyMap<string, ConfigObject>>();
  private readonly claims = new NameOwners<string>();

  get(kind: ConfigData['kind'], namespace: string, name: string): ConfigData | undefined {
    const found = this.find(configObjectKey({ kind, namespace, name }));
    return found !== undefined && isConfigData(found) ? found : undefined;
  }

  runtimeClass(name: string): RuntimeClass | undefined {
    const found = this.find(configObjectKey({ kind: 'RuntimeClass', name }));
    return found?.kind === 'RuntimeClass' ? found : undefined;
  }

  priorityClass(name: string): PriorityClass | undefined {
    const found = this.find(configObjectKey({ kind: 'PriorityClass', name }));
    return found?.kind === 'PriorityClass' ? found : undefined;
  }

  defaultPriorityClass(): PriorityClass | undefined {
    return nodeClassesIn(this.all().filter(isNodeClass)).defaultPriorityClass();
  }

  claim(namespace: string, name: string): PersistentVolumeClaim | undefined {
    const found = this.find(configObjectKey({ kind: 'PersistentVolumeClaim', namespace, name }));
    return found?.kind === 'PersistentVolumeClaim' ? found : undefined;
  }

  persistentVolumes(): PersistentVolume[] {
    const found = this.all().flatMap((object) => (object.kind === 'PersistentVolume' ? [object] : []));
    return found.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  services(): Service[] {
    return this.all().flatMap((object) => (object.kind === 'Service' ? [object] : []));
  }

  /** The addresses of Services without a selector. */
  serviceAddresses(): ServiceAddresses[] {
    return this.all().filter(isServiceAddresses);
  }

  csiDriver(name: string): CSIDriver | undefined {
    const found = this.find(configObjectKey({ kind: 'CSIDriver', name }));
    return found?.kind === 'CSIDriver' ? found : undefined;
  }

  /** Replaces the objects of a source with its new complete list. `source` is any unique string. */
  replace(source: string, objects: readonly ConfigObject[]): Replacement {
    const before = this.bySource.get(source);
    const after = new Map(objects.map((object) => [configObjectKey(object), object]));
    const refused = [...after.keys()].filter((key) => {
      const held = before?.get(key);
      if (held === undefined || !isConfigData(held) || !held.immutable || isDeepStrictEqual(held, after.get(key)))
        return false;
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

  private all(): ConfigObject[] {
    return [...this.bySource].flatMap(([source, held]) =>
      [...held].filter(([key]) => this.claims.owner(key) === source).map(([, object]) => object),
    );
  }

  /** Finds an object by its `configObjectKey`. Returns undefined if no source declares it. */
  find(key: string): ConfigObject | undefined {
    return this.bySource.get(this.claims.owner(key) ?? '')?.get(key);
  }
}
