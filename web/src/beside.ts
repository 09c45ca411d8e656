/** A second map beside the first: the same rows on another map or in other colours, linked by selection and hover. */

import type { Choice } from "./colouring";
import { h, iconButton, replace, uniqueId } from "./dom";
import { Scene, type SceneEvents } from "./scene";
import { Store, type ViewState } from "./state";
import type { ThemeSwitch } from "./theme";
import type { Page } from "./types";

export interface Beside {
  layer: string;
  colour: string;
}

export class SecondMap {
  readonly element = h("div", { class: "pm-beside" });
  readonly scene: Scene;
  private readonly store: Store;
  private readonly layers: HTMLSelectElement;
  private readonly colours: HTMLSelectElement;

  constructor(
    parent: HTMLElement,
    private readonly page: Page,
    first: ViewState,
    { layer, colour }: Beside,
    colours: Choice[],
    theme: ThemeSwitch,
    events: SceneEvents,
    private readonly change: (beside: Beside | null) => void,
  ) {
    this.store = new Store({ ...first, layer, colour, hidden: new Set(), window: null, time: page.versions.length });
    const [layerId, colourId] = [uniqueId("layer"), uniqueId("colour")];
    const changed = () => this.change({ layer: this.layers.value, colour: this.colours.value });
    this.layers = h("select", { id: layerId, change: changed });
    this.colours = h("select", { id: colourId, change: changed }, ...colours.map((choice) => h("option", { value: choice.id }, choice.label)));
    this.element.append(
      h("div", { class: "pm-beside-head" },
        h("label", { for: layerId, class: "pm-hidden" }, "Second map"), this.layers,
        h("label", { for: colourId, class: "pm-hidden" }, "Colour of the second map"), this.colours,
        iconButton("close", "Close the second map", () => this.change(null))),
    );
    parent.append(this.element);
    this.listLayers();
    this.scene = new Scene(this.element, page, this.store, theme, events);
    this.layers.value = layer;
    this.colours.value = colour;
    void this.scene.retheme();
    void this.scene.plot.setSelection(first.selection);
  }

  /** Maps that have come since, such as the baselines of a verdict. */
  listLayers(): void {
    const current = this.layers.value || this.store.state.layer;
    replace(this.layers, ...this.page.layers.map((layer) => h("option", { value: layer.id }, layer.label)));
    this.layers.value = current;
  }

  /** Follow the first map: its selection, the rows it shows, and how they look. */
  async follow(first: ViewState, shown: Uint8Array | null, { layer, colour }: Beside): Promise<void> {
    const before = this.store.state;
    const { selection, size, opacity, auto, density, contours, sprites, labels, rings, raster, own, local, torn, wrong } = first;
    this.store.set({ selection, size, opacity, auto, density, contours, sprites, labels, rings, raster, own, local, torn, wrong, layer, colour });
    if (this.layers.options.length !== this.page.layers.length) this.listLayers();
    if (before.selection !== selection) void this.scene.plot.setSelection(selection);
    const moved = before.layer !== layer;
    const masked = this.scene.mask !== shown;
    this.scene.mask = shown;
    if (moved || before.colour !== colour || before.own !== own) await this.scene.recolour(moved);
    else if (masked || before.density !== density || before.contours !== contours || before.labels !== labels) await this.scene.refilter();
    this.scene.restyle();
    this.scene.paintOverlay();
  }

  destroy(): void {
    this.scene.destroy();
    this.element.remove();
  }
}
