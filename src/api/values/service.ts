/** A Service from a manifest: a name for the pods that it selects. */
export interface Service {
  kind: 'Service';
  namespace: string;
  name: string;
  /** Labels of the pods that it names. Empty if it names none. */
  selector: Readonly<Record<string, string>>;
  /** True if it also names pods that are not Ready. */
  publishNotReadyAddresses: boolean;
}
