"""The paragraphs of the league's page, whose figures in braces `league_quoted` takes from the rows."""

from __future__ import annotations

PICTURE = """
*Upwards*: % of the new rows whose class a vote of ten neighbours on the map predicts. *To the right*: how many points
better than by chance a map of permuted labels shows these labels, which mean nothing. A good map is at the top and on
the left.
"""
NEW_ROWS = """
**A vote of ten neighbours on the default map of prismap predicts the class of {of[new][prismap]} % of the new rows**,
in the mean over {of[n_tables]} tables. {of[surely_ahead]} {of[level]} All others that place new rows are behind it by
more than two standard errors.

**The closest of the other maps** to the default is {of[closest]}, before {of[second]}. Two standard
errors and little more are weak evidence among some twenty comparisons ([limits](#limits)).

*Accuracy*: % of new rows that their ten nearest fitted rows on the map predict. *To prismap*: points ahead of
prismap, the mean of paired differences over the tables, and *+-* its standard error over the tables. *By one*: the
same accuracy by the nearest fitted row alone. *Balanced error*: by ten neighbours, the mean over the classes.
*Placement*: whether a method places new rows by its own means, by our reading of it, or not at all.
"""
AHEAD = """
**Which methods are ahead of the default, and where?** {of[n_often]} of {of[n_rivals]} other methods are ahead of it
by more than one standard error on more than two of the {of[n_tables]} tables, and {of[n_often_surely]} by more than
two standard errors. Of two methods that are equally good, each is ahead by more than one standard error on about 16 %
of the tables by chance ({of[by_chance]} of {of[n_tables]}), and by more than two on about 2 %. The errors are those
of the paired differences on the new rows of a table.
"""
CEILING = """
**The better of a random forest and a support vector machine** on all features is ahead of the map by at most 3 points
on {of[within_3]} of {of[n_sets]} sets, the tables and ours, and by at most 6 on {of[within_6]}. Which of the two is
better is known only afterwards, which favours them. They are ahead by more than 3 points on these sets:
"""
SEEN_ROWS = """
**The protocol makes the winner.** By rows that the map has seen, {of[first_seen]} leads with {of[seen_of_first]} %,
{of[gain_of_first]} points more than the same vote in the data themselves. Of new rows it predicts {of[new_of_first]}
%, and the vote in the data {of[new][no map]} %.

**Some maps show labels that mean nothing.** After a fit to permuted labels, {of[first_seen]} shows them among its own
rows {of[invented_of_first]} points better than by chance. Such a picture says little about the data, however clear it
is.

**The published form of Fisher t-SNE does it, too.** Its posterior has seen the rows at which it is evaluated, and it
invents {of[invented][prismap, as published]} points. In the default the posterior is cross-fitted. It invents
{of[invented][prismap]} points, and {of[invented][prismap, max]} with `supervision="max"`.

*Seen rows*: % of the fitted rows that their ten nearest others on the map predict, which is the protocol of the
paper. *To the data*: points beyond the same vote in the data ("no map"). *Invented*: seen rows after a fit to
permuted labels, minus what permuted labels give on points anywhere. A method that gets no labels can invent nothing,
and its figure shows how far chance goes.
"""
STRUCTURE = """
**Neighbourhoods of the data** are kept best by {of[best_r_nx]}, by the area under the curve of R_NX (1 is all of
them). The default has {of[R_NX][prismap]}, RF-PHATE {of[R_NX][RF-PHATE]}.

**The paper's measures of structure** are highest for {of[best_local]} (*local*) and for {of[best_global]} (*global*).
The default has {of[local][prismap]} and {of[global][prismap]}. Both are measured on seen rows, and do not notice what
is invented.

*Seconds* are those of the processor for a fit with its new rows, in the median over tables and splits. They were
measured at different times on a busy machine, on which the same part took up to twice as long. [Speed](speed.md) has
ratios that were measured within one run. *MB* is the most that a process had which made all maps, packages included.
"""
JUDGED = """
**A verdict sees through a map that flatters.** On {of[n_judged]} tables, the own rows of {of[flatterer]} show an
error of {of[flatterer_shown]} %, where it is {of[flatterer_true]} for new rows. `prismap.judge(method, X, y,
budget="quick")`, which gets the fitted rows only, states {of[flatterer_stated]}.

**How far off is it?** Over all methods and tables, what own rows show is {of[shown_off]} points away from the truth
in the mean, and what `judge` states {of[stated_off]}. A quick verdict judges a fifth of the rows, whose standard
error alone is {of[stated_noise]}. The own rows are more, and closer to the truth than the verdict for
{of[shown_closer]}.

*Shown*: the error in % by the fitted rows. *True*: by new rows, where the method places them. *Stated*: by `judge`.
All three use the measure that the report rests on. *Off by*: the mean distance from the truth. *Target shows* and
*exaggerates*: on how many tables `judge` says that the target shows, and that the map makes it look clearer than it
is.
"""
JUDGED_PERMUTED = """
**Permuted labels have nothing to show.** Of {of[n_permuted]} maps of them, `judge` says {of[false_shows]} times that
they do. On {of[n_flattering]} of these maps the own rows show less than half the true error. `judge` says of
{of[warned]} of them that they exaggerate.
"""
UNITS = """
**New rows of known units are easier than new units.** Seven sets have rows that come in units: people, populations,
arcs of views. In two of them the label is a coin that was tossed per unit, which no method can predict for a new
unit. Of the new rows of known units, the default predicts {of[coins_rows][prismap]} % of the coins and supervised
UMAP {of[coins_rows][supervised UMAP]} %. Of new units they predict {of[coins_units][prismap]} and
{of[coins_units][supervised UMAP]} %, and chance is 50 %.

**To know the units changes little.** Over all seven sets, the default predicts {of[units][prismap]} % of the new
units, and {of[units][prismap, units told]} % if it gets the units by `groups=` ("units told"). {of[units_compared]}

*Seen*: the fitted rows. *New rows*: 30 % of the rows, whose units are on the map with other rows. *New units*: 30 %
of the units with all their rows. *To prismap*: points of new units ahead of it, with a standard error that goes by
units.
"""
OURS = """
**On our own sets** the default predicts {of[our_new][prismap]} % of the new rows. {of[our_surely_ahead]}
{of[our_level]} All others that place new rows are behind it by more than two standard errors. The columns are those
of the tables above. [The field](field.md) has some of these sets over three splits.
"""
BY_SET = (
    "% of new rows that a vote of ten fitted neighbours predicts; of the two models, % that they predict themselves."
)
MEASURED = """
**Sets.** The benchmark has 28 tables, of which artificial_tree has the rows of waveform and is left out. Of each of
the others we take at most 700 rows. Features have variance 1, categories as a block, and gaps get the median of their
column.

**Splits.** About 70 % of the rows make a map, and the others are new. A set has one to three splits, as many as it
takes to judge some 200 new rows, and one permutation of the labels per split. Standard errors on a set are those of
paired differences of its new rows. Several splits count as if two of them had half of their new rows in common.
Tables are means over the sets.

**Methods** are those of `prismap compare`, with their defaults, except that perplexities are lower where few rows ask
for it and that CEBRA makes 1,000 of its 10,000 steps. *prismap, max* has `supervision="max"`, and *prismap, as
published* a posterior that has seen the rows that it judges, full supervision and kernels of the Fisher metric. *Own
reading* is said of methods that have no package, and of placements that are ours.

**Maps of a forest's proximities.** RF-PHATE and RF-t-SNE have the RF-GAP proximities of the package forestgeom, of
500 trees. RF-PHATE also has the authors' random jumps, which are our lines on the package phate. PHATE of proximities
places no new rows. By our reading a new row lies at the most central of the ten fitted rows with the largest
proximities. That was chosen on digits, where the mean of all positions by proximities, as PHATE interpolates,
predicts some twenty points fewer. PHATE of the data themselves places new rows, and warns that this is not what it
is made for.

**Local and global structure** are the paper's measures of structure that matters, on at most 250 fitted rows with
three permutations of each feature. A feature matters for the classes by what permuting it costs the accuracy of ten
neighbours in the data. It matters for the map by what permuting it costs the R2 of the mean position of ten
neighbours in the data, of which each row is one. *Local* is Spearman's correlation of the two over the features.
*Global* is the correlation of the former with the rank correlation of distances in the feature and on the map.
Categories count as one feature.
"""
LIMITS = """
- **Few splits.** There are one to three splits of each set, with one permutation each. Single tables with few new
  rows say little. Rows that two splits share make three splits worth less than three.
- **Many comparisons.** Of some twenty methods that were as good as the default, about one would pass two standard
  errors by chance.
- **Sets that were looked at.** iris, wine and car are among the sets on which the thresholds of the default were
  found, and [the ceiling](ceiling.md) was worked on with these very tables and sets. It has three splits of every
  set, and says where points are lost.
- **Our own sets** were chosen by us, and {of[n_generated]} of them are generated, some so that straight lines do not
  separate their classes. That prismap is further ahead on them than on the tables of the field may be due to this.
- **Different days.** Not all parts were measured by the same code. [The last table](#what-measured-this-page) has their
  commits. The lines of prismap may differ because prismap has changed in between.
- **Defaults.** No method was tuned to a set, and some would gain by it.
- **Units.** The new rows of parkinsons, recordings of 32 people, are of people who are on the map, as in the protocol
  of the field. [New people](#rows-that-belong-together) are harder.
- **Left out**: ncvis, which has no wheel for this Python and could not be built, and the authors' package rfphate,
  which is not on PyPI. {of[undone]}
- **Failures.** {of[failures]}
"""
