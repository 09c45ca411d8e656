/** Light and dark: follows the system until the user decides. */

export interface Theme {
  background: string;
  text: string;
  muted: string;
  warn: string;
  accent: string;
}

const THEMES: Record<"light" | "dark", Theme> = {
  light: { background: "#ffffff", text: "#1c2330", muted: "#5b6472", warn: "#b3261e", accent: "#1f5fd0" },
  dark: { background: "#11151b", text: "#eef1f6", muted: "#a3adbb", warn: "#ff8a80", accent: "#8ab4ff" },
};

export class ThemeSwitch {
  private choice: "light" | "dark" | null = null;
  private readonly system = window.matchMedia("(prefers-color-scheme: dark)");

  constructor(
    private readonly root: HTMLElement,
    private readonly changed: () => void,
  ) {
    this.system.addEventListener("change", () => this.choice === null && this.apply());
    this.root.dataset.theme = this.name;
  }

  get dark(): boolean {
    return this.choice === null ? this.system.matches : this.choice === "dark";
  }

  get colours(): Theme {
    return THEMES[this.name];
  }

  toggle(): void {
    this.choice = this.dark ? "light" : "dark";
    this.apply();
  }

  private get name(): "light" | "dark" {
    return this.dark ? "dark" : "light";
  }

  private apply(): void {
    this.root.dataset.theme = this.name;
    this.changed();
  }
}
